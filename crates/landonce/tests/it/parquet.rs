//! Parquet files land like others: twice is once, a cut one leaves nothing, and the footer proves a snapshot (C05, C21).

use landonce::{Batch, Kind, Status};

use crate::given::{Given, counts, on_every_store, pipeline};

on_every_store!(
    a_file_lands_once_with_every_digit,
    the_footer_proves_a_snapshot_and_a_cut_file_retires_nothing,
    a_bad_row_is_kept_as_its_record,
);

fn file(name: &str) -> Vec<u8> {
    std::fs::read(format!("{}/tests/fixtures/parquet/{name}.parquet", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

async fn a_file_lands_once_with_every_digit(given: Given) {
    let pipeline = pipeline(
        "identity: [id]\ntarget: {table: t, columns: {id: integer, d38: 'decimal(38,8)', at_us: timestamptz, civil: timestamp, bytes: bytes, day: date, uuid: uuid}}",
    );
    let batch = Batch::from_bytes("in/types.parquet", file("types"));
    let receipt = given.deliver_batch(&pipeline, &batch).await.unwrap();
    assert_eq!((receipt.outcome.read, receipt.outcome.inserted), (2, 2));
    let state = given.dump().await;
    assert_eq!(given.deliver_batch(&pipeline, &batch).await.unwrap().status, Status::SkippedDuplicate);
    state.assert_same(&given.dump().await);
    // Told by its first bytes where the name says nothing, and equal to the last row.
    let again = Batch::from_bytes("stdin", file("types")).with_id("again");
    assert_eq!(given.deliver_batch(&pipeline, &again).await.unwrap().outcome.unchanged, 2);
}

async fn the_footer_proves_a_snapshot_and_a_cut_file_retires_nothing(given: Given) {
    let declared = |proof: &str| {
        pipeline(&format!(
            "identity: [id]\ntarget: {{table: t, columns: {{id: integer}}}}\nwrite: {{mode: snapshot, absent: retire}}\nsource: {{format: parquet{proof}}}"
        ))
    };
    let proven = declared(", complete: parquet_footer");
    let whole = file("many");
    let receipt = given.deliver_batch(&proven, &Batch::from_bytes("m.parquet", whole.clone())).await.unwrap();
    assert_eq!(counts(&receipt), "read 2000, inserted 2000");
    let state = given.state().await;
    for cut in [whole.len() - 1, whole.len() / 2, 8] {
        let batch = Batch::from_bytes("m.parquet", whole[..cut].to_vec());
        let error = given.deliver_batch(&proven, &batch).await.unwrap_err();
        assert_eq!(error.kind(), Kind::Payload, "{error}");
    }
    state.assert_same(&given.state().await);
}

async fn a_bad_row_is_kept_as_its_record(given: Given) {
    let pipeline = pipeline(
        "identity: [id]\ntarget: {table: t, columns: {id: integer}}\non_bad_record: {quarantine: {max: 1}}",
    );
    let batch = Batch::from_bytes("bad.parquet", file("bad"));
    let receipt = given.deliver_batch(&pipeline, &batch).await.unwrap();
    assert_eq!((receipt.outcome.inserted, receipt.outcome.quarantined), (1, 1));
}
