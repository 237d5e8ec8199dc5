//! What is nobody's request is done all the same: derived tables follow the batches that land here.

use landonce_testkit::wait;

use crate::served::Server;

const SALES: &str = "
pipeline: sales
identity: [id]
target: {table: sale, columns: {day: date, pence: integer}}
derive:
  - table: daily
    key: [day]
    period: {field: day, every: day, tz: UTC}
    columns: {day: date, pence: integer}
    sql: SELECT day, sum(pence) AS pence FROM sale WHERE day = {period.date} GROUP BY day
";

async fn a_derived_table_follows(server: Server) {
    for nth in 1..=2 {
        let sale = format!("{{\"id\":{nth},\"day\":\"2026-03-0{nth}\",\"pence\":5}}\n");
        let landed = server.post("/v1/pipelines/sales/batches", &[], sale).await;
        assert_eq!(landed.field("status"), "processed", "{landed:?}");
        wait::until(20, "the period to be computed", async || {
            (server.rows("daily").await == nth).then_some(())
        })
        .await;
    }
    assert!(server.get("/metrics").await.text.contains("worker=\"derive\",result=\"ok\""));
    server.stop();
    server.ended().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_derived_table_follows_on_sqlite() {
    a_derived_table_follows(Server::sqlite("derive: {every: 1h}", &[SALES]).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_derived_table_follows_on_postgres() {
    a_derived_table_follows(Server::postgres("derive: {every: 1h}", &[SALES]).await).await;
}
