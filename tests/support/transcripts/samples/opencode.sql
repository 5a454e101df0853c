CREATE TABLE project (
          id text PRIMARY KEY,
          worktree text NOT NULL,
          vcs text,
          name text,
          icon_url text,
          icon_url_override text,
          icon_color text,
          time_created integer NOT NULL,
          time_updated integer NOT NULL,
          time_initialized integer,
          sandboxes text NOT NULL,
          commands text
        );
INSERT INTO project VALUES ('global', '/', NULL, NULL, NULL, NULL, NULL, 1795453804515, 1795453805259, NULL, '[]', NULL);
CREATE TABLE session (
          id text PRIMARY KEY,
          project_id text NOT NULL,
          workspace_id text,
          parent_id text,
          slug text NOT NULL,
          directory text NOT NULL,
          path text,
          title text NOT NULL,
          version text NOT NULL,
          share_url text,
          summary_additions integer,
          summary_deletions integer,
          summary_files integer,
          summary_diffs text,
          metadata text,
          cost real DEFAULT 0 NOT NULL,
          tokens_input integer DEFAULT 0 NOT NULL,
          tokens_output integer DEFAULT 0 NOT NULL,
          tokens_reasoning integer DEFAULT 0 NOT NULL,
          tokens_cache_read integer DEFAULT 0 NOT NULL,
          tokens_cache_write integer DEFAULT 0 NOT NULL,
          revert text,
          permission text,
          agent text,
          model text,
          time_created integer NOT NULL,
          time_updated integer NOT NULL,
          time_compacting integer,
          time_archived integer,
          CONSTRAINT fk_session_project_id_project_id_fk FOREIGN KEY (project_id) REFERENCES project(id) ON DELETE CASCADE
        );
INSERT INTO session VALUES ('ses_df69d1946ffeI2bt364VBpvsU3', 'global', NULL, NULL, 'eager-comet', '/home/user/shop', 'home/user/shop', '[echo] users=2 assistants=0 last="hello one" all=Generate a title for this conversation:|hello one', '1.18.33', NULL, 0, 0, 0, NULL, NULL, 0.0, 720, 35, 0, 0, 0, NULL, NULL, 'build', '{"id":"fake-model","providerID":"fake"}', 1795453806265, 1795453808231, NULL, NULL);
INSERT INTO session VALUES ('ses_df69d1246ffe4bxsQXYCF0XyVp', 'global', NULL, NULL, 'sunny-moon', '/home/user/shop', 'home/user/shop', '[echo] users=2 assistants=0 last="hello one" all=Generate a title for this conversation:|hello one (fork #1)', '1.18.33', NULL, NULL, NULL, NULL, NULL, NULL, 0.0, 615, 30, 0, 0, 0, NULL, NULL, NULL, NULL, 1795453808057, 1795453808057, NULL, NULL);
CREATE TABLE message (
          id text PRIMARY KEY,
          session_id text NOT NULL,
          time_created integer NOT NULL,
          time_updated integer NOT NULL,
          data text NOT NULL,
          CONSTRAINT fk_message_session_id_session_id_fk FOREIGN KEY (session_id) REFERENCES session(id) ON DELETE CASCADE
        );
INSERT INTO message VALUES ('msg_20962e6da001RiqnvN5aBMLCPn', 'ses_df69d1946ffeI2bt364VBpvsU3', 1795453806298, 1795453807236, '{"role":"user","time":{"created":1795453806298},"agent":"build","model":{"providerID":"fake","modelID":"fake-model"},"summary":{"diffs":[]}}');
INSERT INTO message VALUES ('msg_20962e6f10012Fsl4Dat1bJz3n', 'ses_df69d1946ffeI2bt364VBpvsU3', 1795453806321, 1795453807225, '{"parentID":"msg_20962e6da001RiqnvN5aBMLCPn","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/user/shop","root":"/"},"cost":0,"tokens":{"total":106,"input":101,"output":5,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"fake-model","providerID":"fake","time":{"created":1795453806321,"completed":1795453807224},"finish":"stop"}');
INSERT INTO message VALUES ('msg_20962eaad001pcE1BSkFjVNAyx', 'ses_df69d1946ffeI2bt364VBpvsU3', 1795453807277, 1795453807517, '{"role":"user","time":{"created":1795453807277},"agent":"build","model":{"providerID":"fake","modelID":"fake-model"},"summary":{"diffs":[]}}');
INSERT INTO message VALUES ('msg_20962eabf001dpJuAFS2s5nfVG', 'ses_df69d1946ffeI2bt364VBpvsU3', 1795453807295, 1795453807418, '{"parentID":"msg_20962eaad001pcE1BSkFjVNAyx","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/user/shop","root":"/"},"cost":0,"tokens":{"total":107,"input":102,"output":5,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"fake-model","providerID":"fake","time":{"created":1795453807295,"completed":1795453807417},"finish":"tool-calls"}');
INSERT INTO message VALUES ('msg_20962eb3d001kDW1fqq9Oj24lF', 'ses_df69d1946ffeI2bt364VBpvsU3', 1795453807421, 1795453807507, '{"parentID":"msg_20962eaad001pcE1BSkFjVNAyx","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/user/shop","root":"/"},"cost":0,"tokens":{"total":107,"input":102,"output":5,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"fake-model","providerID":"fake","time":{"created":1795453807421,"completed":1795453807506},"finish":"stop"}');
INSERT INTO message VALUES ('msg_20962ebc4001snKbTfNavtAS3W', 'ses_df69d1946ffeI2bt364VBpvsU3', 1795453807556, 1795453807878, '{"role":"user","time":{"created":1795453807556},"agent":"build","model":{"providerID":"fake","modelID":"fake-model"},"summary":{"diffs":[]}}');
INSERT INTO message VALUES ('msg_20962ebcc001SkNSXq9i9574fM', 'ses_df69d1946ffeI2bt364VBpvsU3', 1795453807565, 1795453807808, '{"parentID":"msg_20962ebc4001snKbTfNavtAS3W","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/user/shop","root":"/"},"cost":0,"tokens":{"total":108,"input":103,"output":5,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"fake-model","providerID":"fake","time":{"created":1795453807565,"completed":1795453807807},"finish":"tool-calls"}');
INSERT INTO message VALUES ('msg_20962ecc4001fhAGYccVJvDCn1', 'ses_df69d1946ffeI2bt364VBpvsU3', 1795453807812, 1795453807869, '{"parentID":"msg_20962ebc4001snKbTfNavtAS3W","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/user/shop","root":"/"},"cost":0,"tokens":{"total":108,"input":103,"output":5,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"fake-model","providerID":"fake","time":{"created":1795453807812,"completed":1795453807869},"finish":"stop"}');
INSERT INTO message VALUES ('msg_20962ed3a001DugZEFQkXlzQlI', 'ses_df69d1946ffeI2bt364VBpvsU3', 1795453807930, 1795453808015, '{"role":"user","time":{"created":1795453807930},"agent":"build","model":{"providerID":"fake","modelID":"fake-model"},"summary":{"diffs":[]}}');
INSERT INTO message VALUES ('msg_20962ed430018gfnRSuiksdYjY', 'ses_df69d1946ffeI2bt364VBpvsU3', 1795453807939, 1795453808005, '{"parentID":"msg_20962ed3a001DugZEFQkXlzQlI","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/user/shop","root":"/"},"cost":0,"tokens":{"total":109,"input":104,"output":5,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"fake-model","providerID":"fake","time":{"created":1795453807939,"completed":1795453808004},"finish":"stop"}');
INSERT INTO message VALUES ('msg_20962edbc0016vi3Y1iYcQilkD', 'ses_df69d1246ffe4bxsQXYCF0XyVp', 1795453806298, 1795453808061, '{"role":"user","time":{"created":1795453806298},"agent":"build","model":{"providerID":"fake","modelID":"fake-model"},"summary":{"diffs":[]}}');
INSERT INTO message VALUES ('msg_20962edbf001ChepJci4BBCFD5', 'ses_df69d1246ffe4bxsQXYCF0XyVp', 1795453806321, 1795453808064, '{"parentID":"msg_20962edbc0016vi3Y1iYcQilkD","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/user/shop","root":"/"},"cost":0,"tokens":{"total":106,"input":101,"output":5,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"fake-model","providerID":"fake","time":{"created":1795453806321,"completed":1795453807224},"finish":"stop"}');
INSERT INTO message VALUES ('msg_20962edc6001zJadbQ0wEuqMqN', 'ses_df69d1246ffe4bxsQXYCF0XyVp', 1795453807277, 1795453808070, '{"role":"user","time":{"created":1795453807277},"agent":"build","model":{"providerID":"fake","modelID":"fake-model"},"summary":{"diffs":[]}}');
INSERT INTO message VALUES ('msg_20962edc800132zOOCYOi55dRC', 'ses_df69d1246ffe4bxsQXYCF0XyVp', 1795453807295, 1795453808073, '{"parentID":"msg_20962edc6001zJadbQ0wEuqMqN","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/user/shop","root":"/"},"cost":0,"tokens":{"total":107,"input":102,"output":5,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"fake-model","providerID":"fake","time":{"created":1795453807295,"completed":1795453807417},"finish":"tool-calls"}');
INSERT INTO message VALUES ('msg_20962edda0013lCijQU5omgfUz', 'ses_df69d1246ffe4bxsQXYCF0XyVp', 1795453807421, 1795453808091, '{"parentID":"msg_20962edc6001zJadbQ0wEuqMqN","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/user/shop","root":"/"},"cost":0,"tokens":{"total":107,"input":102,"output":5,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"fake-model","providerID":"fake","time":{"created":1795453807421,"completed":1795453807506},"finish":"stop"}');
INSERT INTO message VALUES ('msg_20962ede00018ct3z9izw8CTxg', 'ses_df69d1246ffe4bxsQXYCF0XyVp', 1795453807556, 1795453808107, '{"role":"user","time":{"created":1795453807556},"agent":"build","model":{"providerID":"fake","modelID":"fake-model"},"summary":{"diffs":[]}}');
INSERT INTO message VALUES ('msg_20962eded001S5CXauBdb5yRRj', 'ses_df69d1246ffe4bxsQXYCF0XyVp', 1795453807565, 1795453808110, '{"parentID":"msg_20962ede00018ct3z9izw8CTxg","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/user/shop","root":"/"},"cost":0,"tokens":{"total":108,"input":103,"output":5,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"fake-model","providerID":"fake","time":{"created":1795453807565,"completed":1795453807807},"finish":"tool-calls"}');
INSERT INTO message VALUES ('msg_20962edfc001gtkH6dmRUPFd8F', 'ses_df69d1246ffe4bxsQXYCF0XyVp', 1795453807812, 1795453808125, '{"parentID":"msg_20962ede00018ct3z9izw8CTxg","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/user/shop","root":"/"},"cost":0,"tokens":{"total":108,"input":103,"output":5,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"fake-model","providerID":"fake","time":{"created":1795453807812,"completed":1795453807869},"finish":"stop"}');
INSERT INTO message VALUES ('msg_20962ee010015EpOvtF8dbw9nF', 'ses_df69d1246ffe4bxsQXYCF0XyVp', 1795453807930, 1795453808130, '{"role":"user","time":{"created":1795453807930},"agent":"build","model":{"providerID":"fake","modelID":"fake-model"},"summary":{"diffs":[]}}');
INSERT INTO message VALUES ('msg_20962ee05001zBuEqm63OHDrm0', 'ses_df69d1246ffe4bxsQXYCF0XyVp', 1795453807939, 1795453808133, '{"parentID":"msg_20962ee010015EpOvtF8dbw9nF","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/user/shop","root":"/"},"cost":0,"tokens":{"total":109,"input":104,"output":5,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"fake-model","providerID":"fake","time":{"created":1795453807939,"completed":1795453808004},"finish":"stop"}');
INSERT INTO message VALUES ('msg_20962ee2d001gtBlfZcx2Ol1BE', 'ses_df69d1946ffeI2bt364VBpvsU3', 1795453808173, 1795453808234, '{"role":"user","time":{"created":1795453808173},"agent":"build","model":{"providerID":"fake","modelID":"fake-model"},"summary":{"diffs":[]}}');
INSERT INTO message VALUES ('msg_20962ee34001tn0z330U7pwVdI', 'ses_df69d1946ffeI2bt364VBpvsU3', 1795453808180, 1795453808226, '{"parentID":"msg_20962ee2d001gtBlfZcx2Ol1BE","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/user/shop","root":"/"},"cost":0,"tokens":{"total":110,"input":105,"output":5,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"fake-model","providerID":"fake","time":{"created":1795453808180,"completed":1795453808226},"finish":"stop"}');
CREATE TABLE part (
          id text PRIMARY KEY,
          message_id text NOT NULL,
          session_id text NOT NULL,
          time_created integer NOT NULL,
          time_updated integer NOT NULL,
          data text NOT NULL,
          CONSTRAINT fk_part_message_id_message_id_fk FOREIGN KEY (message_id) REFERENCES message(id) ON DELETE CASCADE
        );
INSERT INTO part VALUES ('prt_20962e6dc0015zyvPcFhkARzCq', 'msg_20962e6da001RiqnvN5aBMLCPn', 'ses_df69d1946ffeI2bt364VBpvsU3', 1795453806306, 1795453806308, '{"type":"text","text":"hello one"}');
INSERT INTO part VALUES ('prt_20962ea60001gBw7ZyFjWA5axm', 'msg_20962e6f10012Fsl4Dat1bJz3n', 'ses_df69d1946ffeI2bt364VBpvsU3', 1795453807200, 1795453807202, '{"type":"step-start"}');
INSERT INTO part VALUES ('prt_20962ea64001S8yv99XpWG84HY', 'msg_20962e6f10012Fsl4Dat1bJz3n', 'ses_df69d1946ffeI2bt364VBpvsU3', 1795453807204, 1795453807213, '{"type":"text","text":"[echo] users=1 assistants=0 last=\"hello one\" all=hello one","time":{"start":1795453807204,"end":1795453807211}}');
INSERT INTO part VALUES ('prt_20962ea70001wGBWDGyirtMYp5', 'msg_20962e6f10012Fsl4Dat1bJz3n', 'ses_df69d1946ffeI2bt364VBpvsU3', 1795453807216, 1795453807217, '{"reason":"stop","type":"step-finish","tokens":{"total":106,"input":101,"output":5,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
INSERT INTO part VALUES ('prt_20962eaad002D3Lh2rUNIkuL5z', 'msg_20962eaad001pcE1BSkFjVNAyx', 'ses_df69d1946ffeI2bt364VBpvsU3', 1795453807279, 1795453807280, '{"type":"text","text":"TOOLWRITE"}');
INSERT INTO part VALUES ('prt_20962eae7001p26sa1VMeHb1TR', 'msg_20962eabf001dpJuAFS2s5nfVG', 'ses_df69d1946ffeI2bt364VBpvsU3', 1795453807335, 1795453807336, '{"type":"step-start"}');
INSERT INTO part VALUES ('prt_20962eaea001UqN8BvWLX140qN', 'msg_20962eabf001dpJuAFS2s5nfVG', 'ses_df69d1946ffeI2bt364VBpvsU3', 1795453807338, 1795453807357, '{"type":"text","text":"Calling write now.","time":{"start":1795453807338,"end":1795453807355}}');
INSERT INTO part VALUES ('prt_20962eaef001kOAvbfppVEV7YE', 'msg_20962eabf001dpJuAFS2s5nfVG', 'ses_df69d1946ffeI2bt364VBpvsU3', 1795453807343, 1795453807407, '{"type":"tool","tool":"write","callID":"call_fake000044","state":{"status":"completed","input":{"content":"hello from model 44\n","filePath":"/home/user/shop/fake44.txt"},"output":"Wrote file successfully.","metadata":{"diagnostics":{},"filepath":"/home/user/shop/fake44.txt","exists":false,"truncated":false},"title":"home/user/shop/fake44.txt","time":{"start":1795453807352,"end":1795453807405}}}');
INSERT INTO part VALUES ('prt_20962eb32001dGIr8J2YsgO6L3', 'msg_20962eabf001dpJuAFS2s5nfVG', 'ses_df69d1946ffeI2bt364VBpvsU3', 1795453807410, 1795453807411, '{"reason":"tool-calls","type":"step-finish","tokens":{"total":107,"input":102,"output":5,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
INSERT INTO part VALUES ('prt_20962eb7e001Wz64rzF43bXYaw', 'msg_20962eb3d001kDW1fqq9Oj24lF', 'ses_df69d1946ffeI2bt364VBpvsU3', 1795453807486, 1795453807488, '{"type":"step-start"}');
INSERT INTO part VALUES ('prt_20962eb82001uQoIPUiB3lvPtX', 'msg_20962eb3d001kDW1fqq9Oj24lF', 'ses_df69d1946ffeI2bt364VBpvsU3', 1795453807490, 1795453807498, '{"type":"text","text":"[after-tool] [echo] users=2 assistants=2 last=\"TOOLWRITE\" all=hello one|TOOLWRITE","time":{"start":1795453807490,"end":1795453807497}}');
INSERT INTO part VALUES ('prt_20962eb8c001D509cdHobEQi5M', 'msg_20962eb3d001kDW1fqq9Oj24lF', 'ses_df69d1946ffeI2bt364VBpvsU3', 1795453807501, 1795453807502, '{"reason":"stop","type":"step-finish","tokens":{"total":107,"input":102,"output":5,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
INSERT INTO part VALUES ('prt_20962ebc4002amH6J2kI4NWkzw', 'msg_20962ebc4001snKbTfNavtAS3W', 'ses_df69d1946ffeI2bt364VBpvsU3', 1795453807558, 1795453807559, '{"type":"text","text":"TOOLSHELL"}');
INSERT INTO part VALUES ('prt_20962ec040012oZbrcwkCJEn5j', 'msg_20962ebcc001SkNSXq9i9574fM', 'ses_df69d1946ffeI2bt364VBpvsU3', 1795453807620, 1795453807621, '{"type":"step-start"}');
INSERT INTO part VALUES ('prt_20962ec07001R6uQG0VGhxQt2V', 'msg_20962ebcc001SkNSXq9i9574fM', 'ses_df69d1946ffeI2bt364VBpvsU3', 1795453807623, 1795453807639, '{"type":"text","text":"Calling bash now.","time":{"start":1795453807623,"end":1795453807638}}');
INSERT INTO part VALUES ('prt_20962ec0a001K21o1CHE7SoWLk', 'msg_20962ebcc001SkNSXq9i9574fM', 'ses_df69d1946ffeI2bt364VBpvsU3', 1795453807626, 1795453807799, '{"type":"tool","tool":"bash","callID":"call_fake000046","state":{"status":"completed","input":{"command":"echo fake-shell-46 > /home/user/shop/shell46.txt && cat /home/user/shop/shell46.txt"},"output":"fake-shell-46\n","metadata":{"output":"fake-shell-46\n","exit":0,"truncated":false},"title":"echo fake-shell-46 > /home/user/shop/shell46.txt && cat /home/user/shop/shell46.txt","time":{"start":1795453807632,"end":1795453807798}}}');
INSERT INTO part VALUES ('prt_20962ecb9001q4FZPxg3q2zXWe', 'msg_20962ebcc001SkNSXq9i9574fM', 'ses_df69d1946ffeI2bt364VBpvsU3', 1795453807802, 1795453807803, '{"reason":"tool-calls","type":"step-finish","tokens":{"total":108,"input":103,"output":5,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
INSERT INTO part VALUES ('prt_20962ecf00013KiDfNsIqJAtgR', 'msg_20962ecc4001fhAGYccVJvDCn1', 'ses_df69d1946ffeI2bt364VBpvsU3', 1795453807856, 1795453807857, '{"type":"step-start"}');
INSERT INTO part VALUES ('prt_20962ecf3001z6WsX7af3TJ8wF', 'msg_20962ecc4001fhAGYccVJvDCn1', 'ses_df69d1946ffeI2bt364VBpvsU3', 1795453807859, 1795453807863, '{"type":"text","text":"[after-tool] [echo] users=3 assistants=4 last=\"TOOLSHELL\" all=hello one|TOOLWRITE|TOOLSHELL","time":{"start":1795453807859,"end":1795453807863}}');
INSERT INTO part VALUES ('prt_20962ecf9001bXeiwx2azlQUUH', 'msg_20962ecc4001fhAGYccVJvDCn1', 'ses_df69d1946ffeI2bt364VBpvsU3', 1795453807865, 1795453807865, '{"reason":"stop","type":"step-finish","tokens":{"total":108,"input":103,"output":5,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
INSERT INTO part VALUES ('prt_20962ed3b001PtLmdMLDysO4JK', 'msg_20962ed3a001DugZEFQkXlzQlI', 'ses_df69d1946ffeI2bt364VBpvsU3', 1795453807933, 1795453807933, '{"type":"text","text":"THINK"}');
INSERT INTO part VALUES ('prt_20962ed7200179sjPS1wbqNOMF', 'msg_20962ed430018gfnRSuiksdYjY', 'ses_df69d1946ffeI2bt364VBpvsU3', 1795453807986, 1795453807988, '{"type":"step-start"}');
INSERT INTO part VALUES ('prt_20962ed7500116D8I7eacJ7dpN', 'msg_20962ed430018gfnRSuiksdYjY', 'ses_df69d1946ffeI2bt364VBpvsU3', 1795453807989, 1795453807992, '{"type":"reasoning","text":"thinking about it, step one, step two","time":{"start":1795453807989,"end":1795453807992}}');
INSERT INTO part VALUES ('prt_20962ed79001c6YVvbeiZJXBSf', 'msg_20962ed430018gfnRSuiksdYjY', 'ses_df69d1946ffeI2bt364VBpvsU3', 1795453807993, 1795453807997, '{"type":"text","text":"[echo] users=4 assistants=5 last=\"THINK\" all=hello one|TOOLWRITE|TOOLSHELL|THINK","time":{"start":1795453807993,"end":1795453807997}}');
INSERT INTO part VALUES ('prt_20962ed7f001287YkestFfE15W', 'msg_20962ed430018gfnRSuiksdYjY', 'ses_df69d1946ffeI2bt364VBpvsU3', 1795453807999, 1795453808000, '{"reason":"stop","type":"step-finish","tokens":{"total":109,"input":104,"output":5,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
INSERT INTO part VALUES ('prt_20962edbe001DNT9RVBijxRHaK', 'msg_20962edbc0016vi3Y1iYcQilkD', 'ses_df69d1246ffe4bxsQXYCF0XyVp', 1795453808062, 1795453808063, '{"type":"text","text":"hello one"}');
INSERT INTO part VALUES ('prt_20962edc1001mv2Fl5IPN3WfAf', 'msg_20962edbf001ChepJci4BBCFD5', 'ses_df69d1246ffe4bxsQXYCF0XyVp', 1795453808065, 1795453808065, '{"type":"step-start"}');
INSERT INTO part VALUES ('prt_20962edc2001R6hf59m81knax9', 'msg_20962edbf001ChepJci4BBCFD5', 'ses_df69d1246ffe4bxsQXYCF0XyVp', 1795453808066, 1795453808067, '{"type":"text","text":"[echo] users=1 assistants=0 last=\"hello one\" all=hello one","time":{"start":1795453807204,"end":1795453807211}}');
INSERT INTO part VALUES ('prt_20962edc4001uCAZx3tBrH6oXp', 'msg_20962edbf001ChepJci4BBCFD5', 'ses_df69d1246ffe4bxsQXYCF0XyVp', 1795453808068, 1795453808069, '{"reason":"stop","type":"step-finish","tokens":{"total":106,"input":101,"output":5,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
INSERT INTO part VALUES ('prt_20962edc7001gY4L7hkMVkbk5e', 'msg_20962edc6001zJadbQ0wEuqMqN', 'ses_df69d1246ffe4bxsQXYCF0XyVp', 1795453808071, 1795453808071, '{"type":"text","text":"TOOLWRITE"}');
INSERT INTO part VALUES ('prt_20962edc9001tcOkkjyjR0U2sT', 'msg_20962edc800132zOOCYOi55dRC', 'ses_df69d1246ffe4bxsQXYCF0XyVp', 1795453808073, 1795453808074, '{"type":"step-start"}');
INSERT INTO part VALUES ('prt_20962edca001VaWE2C9Ft8E5nM', 'msg_20962edc800132zOOCYOi55dRC', 'ses_df69d1246ffe4bxsQXYCF0XyVp', 1795453808074, 1795453808075, '{"type":"text","text":"Calling write now.","time":{"start":1795453807338,"end":1795453807355}}');
INSERT INTO part VALUES ('prt_20962edd6001WNLOhw2LlgI6MI', 'msg_20962edc800132zOOCYOi55dRC', 'ses_df69d1246ffe4bxsQXYCF0XyVp', 1795453808086, 1795453808087, '{"type":"tool","tool":"write","callID":"call_fake000044","state":{"status":"completed","input":{"content":"hello from model 44\n","filePath":"/home/user/shop/fake44.txt"},"output":"Wrote file successfully.","metadata":{"diagnostics":{},"filepath":"/home/user/shop/fake44.txt","exists":false,"truncated":false},"title":"home/user/shop/fake44.txt","time":{"start":1795453807352,"end":1795453807405}}}');
INSERT INTO part VALUES ('prt_20962edd8001TDJbBZ2L3sKYtl', 'msg_20962edc800132zOOCYOi55dRC', 'ses_df69d1246ffe4bxsQXYCF0XyVp', 1795453808088, 1795453808089, '{"reason":"tool-calls","type":"step-finish","tokens":{"total":107,"input":102,"output":5,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
INSERT INTO part VALUES ('prt_20962eddb0012jG2RhW5cev1Ry', 'msg_20962edda0013lCijQU5omgfUz', 'ses_df69d1246ffe4bxsQXYCF0XyVp', 1795453808092, 1795453808092, '{"type":"step-start"}');
INSERT INTO part VALUES ('prt_20962eddd001PkscHwesbm4pCc', 'msg_20962edda0013lCijQU5omgfUz', 'ses_df69d1246ffe4bxsQXYCF0XyVp', 1795453808093, 1795453808094, '{"type":"text","text":"[after-tool] [echo] users=2 assistants=2 last=\"TOOLWRITE\" all=hello one|TOOLWRITE","time":{"start":1795453807490,"end":1795453807497}}');
INSERT INTO part VALUES ('prt_20962edde001l42ZJFk3LtCqBM', 'msg_20962edda0013lCijQU5omgfUz', 'ses_df69d1246ffe4bxsQXYCF0XyVp', 1795453808094, 1795453808095, '{"reason":"stop","type":"step-finish","tokens":{"total":107,"input":102,"output":5,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
INSERT INTO part VALUES ('prt_20962edec001O2lzkwUoiOGnUk', 'msg_20962ede00018ct3z9izw8CTxg', 'ses_df69d1246ffe4bxsQXYCF0XyVp', 1795453808108, 1795453808109, '{"type":"text","text":"TOOLSHELL"}');
INSERT INTO part VALUES ('prt_20962edee001qEhQPK6b3FYTbH', 'msg_20962eded001S5CXauBdb5yRRj', 'ses_df69d1246ffe4bxsQXYCF0XyVp', 1795453808111, 1795453808111, '{"type":"step-start"}');
INSERT INTO part VALUES ('prt_20962edf0001hfO1w3l7NdXigB', 'msg_20962eded001S5CXauBdb5yRRj', 'ses_df69d1246ffe4bxsQXYCF0XyVp', 1795453808112, 1795453808113, '{"type":"text","text":"Calling bash now.","time":{"start":1795453807623,"end":1795453807638}}');
INSERT INTO part VALUES ('prt_20962edf1001WtHf0P5HHLUuOJ', 'msg_20962eded001S5CXauBdb5yRRj', 'ses_df69d1246ffe4bxsQXYCF0XyVp', 1795453808113, 1795453808114, '{"type":"tool","tool":"bash","callID":"call_fake000046","state":{"status":"completed","input":{"command":"echo fake-shell-46 > /home/user/shop/shell46.txt && cat /home/user/shop/shell46.txt"},"output":"fake-shell-46\n","metadata":{"output":"fake-shell-46\n","exit":0,"truncated":false},"title":"echo fake-shell-46 > /home/user/shop/shell46.txt && cat /home/user/shop/shell46.txt","time":{"start":1795453807632,"end":1795453807798}}}');
INSERT INTO part VALUES ('prt_20962edf30011x7plzpOpvIoVC', 'msg_20962eded001S5CXauBdb5yRRj', 'ses_df69d1246ffe4bxsQXYCF0XyVp', 1795453808115, 1795453808123, '{"reason":"tool-calls","type":"step-finish","tokens":{"total":108,"input":103,"output":5,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
INSERT INTO part VALUES ('prt_20962edfe001yzG6D1fkCmqSyg', 'msg_20962edfc001gtkH6dmRUPFd8F', 'ses_df69d1246ffe4bxsQXYCF0XyVp', 1795453808126, 1795453808126, '{"type":"step-start"}');
INSERT INTO part VALUES ('prt_20962edff001nLL8Xe1R3yyN0p', 'msg_20962edfc001gtkH6dmRUPFd8F', 'ses_df69d1246ffe4bxsQXYCF0XyVp', 1795453808127, 1795453808128, '{"type":"text","text":"[after-tool] [echo] users=3 assistants=4 last=\"TOOLSHELL\" all=hello one|TOOLWRITE|TOOLSHELL","time":{"start":1795453807859,"end":1795453807863}}');
INSERT INTO part VALUES ('prt_20962ee00001VW4Jc7pt54oH8p', 'msg_20962edfc001gtkH6dmRUPFd8F', 'ses_df69d1246ffe4bxsQXYCF0XyVp', 1795453808128, 1795453808129, '{"reason":"stop","type":"step-finish","tokens":{"total":108,"input":103,"output":5,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
INSERT INTO part VALUES ('prt_20962ee02001Fi1W7gJnjyrhX1', 'msg_20962ee010015EpOvtF8dbw9nF', 'ses_df69d1246ffe4bxsQXYCF0XyVp', 1795453808131, 1795453808131, '{"type":"text","text":"THINK"}');
INSERT INTO part VALUES ('prt_20962ee0b001eav2NodhsEPvnx', 'msg_20962ee05001zBuEqm63OHDrm0', 'ses_df69d1246ffe4bxsQXYCF0XyVp', 1795453808139, 1795453808139, '{"type":"step-start"}');
INSERT INTO part VALUES ('prt_20962ee0c001XzKukV5zNEkkXT', 'msg_20962ee05001zBuEqm63OHDrm0', 'ses_df69d1246ffe4bxsQXYCF0XyVp', 1795453808141, 1795453808141, '{"type":"reasoning","text":"thinking about it, step one, step two","time":{"start":1795453807989,"end":1795453807992}}');
INSERT INTO part VALUES ('prt_20962ee0d001du7hQ3a3s3RP7M', 'msg_20962ee05001zBuEqm63OHDrm0', 'ses_df69d1246ffe4bxsQXYCF0XyVp', 1795453808142, 1795453808142, '{"type":"text","text":"[echo] users=4 assistants=5 last=\"THINK\" all=hello one|TOOLWRITE|TOOLSHELL|THINK","time":{"start":1795453807993,"end":1795453807997}}');
INSERT INTO part VALUES ('prt_20962ee0f001mPffG9Z6eaCMs4', 'msg_20962ee05001zBuEqm63OHDrm0', 'ses_df69d1246ffe4bxsQXYCF0XyVp', 1795453808143, 1795453808143, '{"reason":"stop","type":"step-finish","tokens":{"total":109,"input":104,"output":5,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
INSERT INTO part VALUES ('prt_20962ee2d002FVUyyHICbsxGfR', 'msg_20962ee2d001gtBlfZcx2Ol1BE', 'ses_df69d1946ffeI2bt364VBpvsU3', 1795453808175, 1795453808175, '{"type":"text","text":"bye"}');
INSERT INTO part VALUES ('prt_20962ee57001e0p4pkpkadqm8w', 'msg_20962ee34001tn0z330U7pwVdI', 'ses_df69d1946ffeI2bt364VBpvsU3', 1795453808215, 1795453808216, '{"type":"step-start"}');
INSERT INTO part VALUES ('prt_20962ee59001jM0apRRbnQpG7i', 'msg_20962ee34001tn0z330U7pwVdI', 'ses_df69d1946ffeI2bt364VBpvsU3', 1795453808217, 1795453808221, '{"type":"text","text":"[echo] users=5 assistants=6 last=\"bye\" all=hello one|TOOLWRITE|TOOLSHELL|THINK|bye","time":{"start":1795453808217,"end":1795453808220}}');
INSERT INTO part VALUES ('prt_20962ee5e001vdU249rRwwoDLg', 'msg_20962ee34001tn0z330U7pwVdI', 'ses_df69d1946ffeI2bt364VBpvsU3', 1795453808222, 1795453808223, '{"reason":"stop","type":"step-finish","tokens":{"total":110,"input":105,"output":5,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
