-- How large a segment is once it is unpacked: what is merged must fit into the memory of who promotes it.

alter table cold_segment add column text_bytes bigint not null default 0;
