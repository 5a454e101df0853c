"""Several clients on one file: leases, and following what another one writes."""
