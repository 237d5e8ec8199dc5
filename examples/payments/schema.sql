-- What is there before the first payment; PostgreSQL takes it as it is, too.
CREATE TABLE customer (customer_id text PRIMARY KEY, balance bigint NOT NULL);
CREATE TABLE tally (type text PRIMARY KEY, payments bigint NOT NULL);
INSERT INTO customer VALUES ('ada', 0), ('bob', 0);
