//! Many rows: the work is the database's, and the script is streamed.

use super::Scene;

/// 100,000 rows of 50,000 events, half of them pointed at by a reference.
const MANY: &str = "
    CREATE TABLE event (id KEY!, flight TEXT NOT NULL, kind TEXT NOT NULL, note TEXT);
    WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 100000)
    INSERT INTO event (flight, kind, note) SELECT 'F' || (n % 50000), 'departure', 'a note of some length about the ' || n FROM n;
    CREATE TABLE seen (id KEY!, event INT NOT NULL REFERENCES event(id));
    INSERT INTO seen (event) SELECT id FROM event WHERE id % 2 = 0;
    CREATE INDEX seen_event ON seen (event);";

#[tokio::test]
async fn a_hundred_thousand_rows_are_repaired_and_brought_back() {
    for scene in Scene::both(MANY).await {
        scene
            .round_trip(&["dedupe", "--table", "event", "--key", "flight,kind"], async |scene| {
                assert_eq!(scene.value("SELECT count(*) FROM event").await, "50000");
                assert_eq!(scene.value("SELECT max(event) FROM seen").await, "50000");
            })
            .await;
    }
}
