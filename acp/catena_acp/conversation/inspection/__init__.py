"""What can be looked at: chain, context, price, tree, files and todos."""
