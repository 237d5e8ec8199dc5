//! What a call does with the functions that it is given.

use super::last;

/// What a call that is given functions does with them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::code) enum Callback {
    /// Calls it for every element.
    Repeat,
    /// Opens something around it: a transaction, a retry.
    Around,
    /// Calls it once, afterwards or elsewhere.
    Once,
    /// Calls it with a failure.
    Failure,
    /// Can't be told.
    Unknown,
}

/// What a call of this name does with a function that it is given.
pub(in crate::code) fn callback(callee: &str, receiver: &str) -> Callback {
    let name = last(callee);
    let lower = name.to_ascii_lowercase();
    if lower == "catch" {
        return Callback::Failure;
    }
    if matches!(
        name,
        "forEach"
            | "map"
            | "flatMap"
            | "for_each"
            | "each"
            | "eachSeries"
            | "eachOf"
            | "eachLimit"
            | "eachOfSeries"
            | "mapSeries"
            | "mapLimit"
            | "reduce"
            | "try_for_each"
            | "for_each_concurrent"
            | "try_for_each_concurrent"
            | "forEachOrdered"
            | "filter_map"
            | "flat_map"
            | "fold"
            | "try_fold"
            | "forEachSeries"
            | "forEachLimit"
            | "pMap"
            | "asyncForEach"
            | "Each"
            | "ForEach"
            | "Walk"
            | "WalkDir"
            | "eachRow"
            | "mapAsync"
    ) {
        return Callback::Repeat;
    }
    if lower.contains("transaction")
        || lower.contains("retry")
        || lower.contains("backoff")
        || opens(name, receiver)
    {
        return Callback::Around;
    }
    if matches!(
        lower.as_str(),
        "then"
            | "finally"
            | "and_then"
            | "or_else"
            | "map_err"
            | "unwrap_or_else"
            | "map_or_else"
            | "spawn"
            | "spawn_blocking"
            | "block_on"
            | "settimeout"
            | "setimmediate"
            | "nexttick"
            | "promise"
            | "submit"
            | "tap"
            | "ok_or_else"
            | "inspect_err"
            | "waterfall"
            | "series"
            | "parallel"
            | "all"
            | "go"
            | "func"
            | "runasync"
            | "supplyasync"
            | "thenapply"
            | "thenaccept"
            | "thencompose"
            | "ifpresent"
            | "iife"
            | "do"
            | "join"
            | "timeout"
            | "ok_or"
            | "or_insert_with"
            | "get_or_insert_with"
            | "thread"
            | "invokeall"
            | "orelsethrow"
            | "orelseget"
            | "bind"
    ) {
        return Callback::Once;
    }
    Callback::Unknown
}

fn opens(name: &str, receiver: &str) -> bool {
    matches!(
        name,
        "begin"
            | "beginFunc"
            | "BeginFunc"
            | "BeginTxFunc"
            | "withTx"
            | "WithTx"
            | "InTx"
            | "inTx"
            | "RunInTx"
            | "runInTx"
            | "tx"
            | "atomic"
            | "savepoint"
            | "executeWithoutResult"
            | "task"
            | "with_tx"
            | "in_tx"
            | "ExecuteTx"
            | "RetryNotify"
            | "withConnection"
            | "useHandle"
            | "interact"
            | "beginTx"
    ) || (matches!(name, "execute" | "call" | "Do" | "run" | "Execute")
        && ["transaction", "tx", "retry", "failsafe"]
            .iter()
            .any(|known| receiver.to_ascii_lowercase().contains(known)))
}
