//! Executions of prepared statements. Clients may send the types of parameters with the first execution alone: when that one
//! is refused, the server still has to get them.

use bytes::Bytes;

use super::packet::{self, HEAD};

/// Where it is said whether types follow: behind the command, the statement's id, flags, a count, and a bit for each NULL.
fn flag_at(parameters: u16) -> usize {
    HEAD + 1 + 4 + 1 + 4 + usize::from(parameters).div_ceil(8)
}

/// The types in an execution, if it has any.
pub(super) fn types(packet: &[u8], parameters: u16) -> Option<Bytes> {
    let flag = flag_at(parameters);
    if parameters == 0 || packet.get(flag) != Some(&1) {
        return None;
    }
    let types = packet.get(flag + 1..flag + 1 + 2 * usize::from(parameters))?;
    Some(Bytes::copy_from_slice(types))
}

/// The execution with these types, if it has none.
pub(super) fn with_types(packet: &Bytes, parameters: u16, types: &[u8]) -> Bytes {
    let flag = flag_at(parameters);
    // One as long as a packet can be has no room for them.
    if packet.get(flag) != Some(&0) || packet::is_continued(packet) {
        return packet.clone();
    }
    let payload = [&packet[HEAD..flag], &[1], types, &packet[flag + 1..]].concat();
    packet::framed(packet[3], &payload)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &[u8] = b"\x17\x01\0\0\0\0\x01\0\0\0\0";

    #[test]
    fn types_of_a_refused_execution_are_put_into_the_next() {
        let first = packet::framed(0, &[BEFORE, b"\x01\x03\0\x08\0", b"aaaabbbbbbbb"].concat());
        let types = types(&first, 2).unwrap();
        assert_eq!(types, &b"\x03\0\x08\0"[..]);
        let next = packet::framed(0, &[BEFORE, b"\0", b"aaaabbbbbbbb"].concat());
        assert_eq!(with_types(&next, 2, &types), first);
        // One that has them is left as it is.
        assert_eq!(with_types(&first, 2, &types), first);
    }

    #[test]
    fn without_parameters_there_are_no_types() {
        assert_eq!(types(&packet::framed(0, b"\x17\x01\0\0\0\0\x01\0\0\0"), 0), None);
    }
}
