DROP TABLE queue_periodic;
DROP TABLE queue_leader;
