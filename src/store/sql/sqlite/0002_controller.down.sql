DROP TABLE judge_events;
DROP TABLE api_keys;
