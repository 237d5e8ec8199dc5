//! `key explain` shows a record's bytes and tells two records apart.

use snapbox::str;

use crate::folder::{Folder, said};

#[test]
fn two_records_are_compared() {
    let folder = Folder::with_events();
    said(
        &folder.with_flags(&["key", "explain", "events.ndjson", "--record", "1", "--and", "2"]),
        str![[r#"
exit 0
--- stdout
events.ndjson, record 1 (pipeline duty_event)
  identity    flight_id    s 21 "B6-739-JFK-2013-03-03"  no type declared, written "B6-739-JFK-2013-03-03"
              event_kind   s 19 "scheduled_departure"    no type declared, written "scheduled_departure"
              instant_utc  s 20 "2013-03-03T04:55:00Z"   no type declared, written "2013-03-03T04:55:00Z"
  key         uuid    a34393d1-c8af-8a19-8561-13e37fa3a7c1 (stored)
              sha256  a34393d1c8af3a19056113e37fa3a7c1a3e4e48c44ac64b2e55401c6dfb2bec4
              of      landonce:key:1 s 21 "B6-739-JFK-2013-03-03" s 19 "scheduled_departure" s 20 "2013-03-03T04:55:00Z"
  content     sha256  286520c9c077e29b81f99f5897a3ee9d932b90e07b2453e019317ca2cf989ebe (stored)
              of      landonce:digest:1 o 135 {
                        s 10 "event_kind" s 19 "scheduled_departure"
                        s 9 "flight_id" s 21 "B6-739-JFK-2013-03-03"
                        s 4 "gate" s 1 "7"
                        s 11 "instant_utc" s 20 "2013-03-03T04:55:00Z"
                      }
  columns     landonce_key     uuid   a34393d1-c8af-8a19-8561-13e37fa3a7c1
              landonce_digest  bytes  286520c9c077e29b81f99f5897a3ee9d932b90e07b2453e019317ca2cf989ebe
              flight_id        text   B6-739-JFK-2013-03-03
              event_kind       text   scheduled_departure
              instant_utc      text   2013-03-03T04:55:00Z
              payload          json   {"gate":"7"}

events.ndjson, record 2 (pipeline duty_event)
  identity    flight_id    s 21 "B6-739-JFK-2013-03-03"  no type declared, written "B6-739-JFK-2013-03-03"
              event_kind   s 17 "scheduled_arrival"      no type declared, written "scheduled_arrival"
              instant_utc  s 20 "2013-03-03T08:39:00Z"   no type declared, written "2013-03-03T08:39:00Z"
  key         uuid    2c833fd3-6e38-8fb5-b4a1-35bebfa0daf7 (stored)
              sha256  2c833fd36e388fb5f4a135bebfa0daf70a3d6229502d0ba42eaffa908579363e
              of      landonce:key:1 s 21 "B6-739-JFK-2013-03-03" s 17 "scheduled_arrival" s 20 "2013-03-03T08:39:00Z"
  content     sha256  db2f9882b5e14b8b93f7cc62ff79e28a7db5f187ee597cfe449db18d75aa77d5 (stored)
              of      landonce:digest:1 o 133 {
                        s 10 "event_kind" s 17 "scheduled_arrival"
                        s 9 "flight_id" s 21 "B6-739-JFK-2013-03-03"
                        s 4 "gate" s 1 "2"
                        s 11 "instant_utc" s 20 "2013-03-03T08:39:00Z"
                      }
  columns     landonce_key     uuid   2c833fd3-6e38-8fb5-b4a1-35bebfa0daf7
              landonce_digest  bytes  db2f9882b5e14b8b93f7cc62ff79e28a7db5f187ee597cfe449db18d75aa77d5
              flight_id        text   B6-739-JFK-2013-03-03
              event_kind       text   scheduled_arrival
              instant_utc      text   2013-03-03T08:39:00Z
              payload          json   {"gate":"2"}

Together: two events: the identity differs in event_kind, instant_utc
  identity    flight_id    "B6-739-JFK-2013-03-03"
              event_kind   "scheduled_departure" and "scheduled_arrival"
              instant_utc  "2013-03-03T04:55:00Z" and "2013-03-03T08:39:00Z"
  differs in  event_kind   "scheduled_departure" and "scheduled_arrival"
              gate         "7" and "2"
              instant_utc  "2013-03-03T04:55:00Z" and "2013-03-03T08:39:00Z"
--- stderr

"#]],
    );
}

#[test]
fn a_record_that_is_not_there_is_told() {
    let folder = Folder::with_events();
    said(
        &folder.with_flags(&["key", "explain", "events.ndjson", "--record", "9"]),
        str![[r#"
exit 2
--- stdout
--- stderr
error[L0102]: events.ndjson: no record has the number 9; a record's number is its line, and the last is 3
  = help: landonce explain L0102

"#]],
    );
}
