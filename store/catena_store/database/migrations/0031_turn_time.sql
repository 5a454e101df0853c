-- When turns were at work, so that a plan of files looks only at those of its time. The turns that are under way come first.
CREATE INDEX turn_time ON turn (ended_at, started_at);
