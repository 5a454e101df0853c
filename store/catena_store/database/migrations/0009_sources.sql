-- A session of another tool is looked for among our links by its id alone: under which agent's name we know it, nobody tells.
CREATE INDEX link_session_id ON link (session_id);
