//! A history for people.

use std::fmt;

use super::{Delivery, History};

impl fmt::Display for History {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let identity: Vec<String> =
            self.identity.iter().map(|field| format!("{}={}", field.field, field.text)).collect();
        writeln!(f, "{} in {} (pipeline {})", identity.join(" "), self.table, self.pipeline)?;
        writeln!(f, "  key         {}", self.key_uuid)?;
        self.row(f)?;
        if self.deliveries.is_empty() {
            writeln!(f, "  deliveries  none is known")?;
        } else {
            writeln!(f, "  deliveries, oldest first")?;
        }
        for delivery in &self.deliveries {
            write_delivery(f, delivery)?;
        }
        if !self.kept.is_empty() {
            writeln!(f, "  kept aside")?;
        }
        for kept in &self.kept {
            writeln!(f, "    {}  {}  batch {}  {}", kept.at, &kept.id[..12], kept.batch_id, kept.why)?;
        }
        if !self.messages.is_empty() {
            writeln!(f, "  messages, newest first")?;
        }
        for message in &self.messages {
            writeln!(
                f,
                "    {}  {}  {} to {}  {}",
                message.enqueued_at, message.kind, message.state, message.topic, message.id
            )?;
        }
        writeln!(f, "  not known")?;
        for sentence in &self.unknown {
            writeln!(f, "    {sentence}")?;
        }
        Ok(())
    }
}

impl History {
    fn row(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(row) = &self.row else { return writeln!(f, "  row         there is none") };
        let mut told = vec!["is there".to_owned()];
        if let Some(retired_at) = &row.retired_at {
            told = vec![format!("is retired since {retired_at}")];
        }
        if let Some(revision) = row.revision {
            told.push(format!("revision {revision}"));
        }
        if let Some(run_id) = row.run_id {
            told.push(format!("by run {run_id}"));
        }
        writeln!(f, "  row         {}", told.join(", "))?;
        let width = row.columns.iter().map(|cell| cell.column.chars().count()).max().unwrap_or(0);
        for cell in &row.columns {
            writeln!(f, "    {:width$}  {}", cell.column, cell.json)?;
        }
        Ok(())
    }
}

fn write_delivery(f: &mut fmt::Formatter<'_>, delivery: &Delivery) -> fmt::Result {
    let decided = delivery.decided.map_or("not known", super::Decision::as_str);
    let width = "duplicate in batch".len();
    let record = delivery.record.map(|number| format!(", record {number}")).unwrap_or_default();
    let standing = if delivery.is_standing { "  ← the row is as this left it" } else { "" };
    writeln!(
        f,
        "    {}  {decided:width$}  {} ({}){standing}",
        delivery.at,
        delivery.batch_id,
        delivery.known_by.as_str()
    )?;
    writeln!(f, "      from {}{record}, run {}", delivery.source, delivery.run_id)
}
