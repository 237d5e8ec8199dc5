//! Puts events into a topic, for `scripts/bench-consume` and for looking at a worker by hand:
//! `bench_produce BROKERS TOPIC PARTITIONS COUNT [PER_SECOND]`. Each is about 350 bytes; `sent_at` is when it was made, in milliseconds.
//! Without a rate the same events go to stdout as NDJSON when BROKERS is `-`.

use std::error::Error;
use std::io::Write as _;
use std::time::{Duration, Instant, SystemTime};

use rdkafka::config::ClientConfig;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer as _};

fn event(number: u64) -> String {
    let now = SystemTime::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_millis());
    let hour = number / 3_600 % 24;
    format!(
        "{{\"event_id\":{number},\"flight_id\":\"B6-{}\",\"event_kind\":\"departure\",\"instant_utc\":\"2013-03-03T{hour:02}:55:00Z\",\"gate\":\"{}\",\
         \"delay\":{},\"sent_at\":{now},\"note\":\"{:->180}\"}}",
        number % 9_973,
        number % 61,
        number % 77,
        number.wrapping_mul(0x9e37_79b9_7f4a_7c15)
    )
}

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [brokers, topic, partitions, count, rest @ ..] = args.as_slice() else {
        return Err("bench_produce BROKERS TOPIC PARTITIONS COUNT [PER_SECOND]".into());
    };
    let (partitions, count): (u64, u64) = (partitions.parse()?, count.parse()?);
    if brokers == "-" {
        let mut out = std::io::BufWriter::new(std::io::stdout().lock());
        for number in 0..count {
            writeln!(out, "{}", event(number))?;
        }
        return Ok(out.flush()?);
    }
    let rate: Option<u64> = rest.first().map(|rate| rate.parse()).transpose()?;
    let producer: BaseProducer = ClientConfig::new()
        .set("bootstrap.servers", brokers)
        .set("linger.ms", if rate.is_some() { "5" } else { "50" })
        .set("batch.num.messages", "10000")
        .set("queue.buffering.max.messages", "200000")
        .create()?;
    let began = Instant::now();
    for number in 0..count {
        if let Some(rate) = rate {
            let due = Duration::from_micros(number * 1_000_000 / rate);
            while began.elapsed() < due {
                producer.poll(Duration::from_millis(1));
            }
        }
        let (key, value) = (number.to_string(), event(number));
        let partition = i32::try_from(number % partitions)?;
        let mut record = BaseRecord::to(topic).partition(partition).key(&key).payload(&value);
        while let Err((error, again)) = producer.send(record) {
            if error != KafkaError::MessageProduction(RDKafkaErrorCode::QueueFull) {
                return Err(error.into());
            }
            producer.poll(Duration::from_millis(10));
            record = again;
        }
    }
    producer.flush(Duration::from_mins(2))?;
    Ok(())
}
