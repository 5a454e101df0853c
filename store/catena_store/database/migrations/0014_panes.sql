-- Tabs that stand side by side.

-- The place of a tab among those that stand side by side, from the left; NULL for one that does not.
ALTER TABLE window ADD COLUMN pane INTEGER;
