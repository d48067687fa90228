//! Whole numbers in the JSON that callers send.

use serde_json::Number;

/// The maximum. Other languages' JSON libraries do not all support greater numbers.
pub(crate) const MAX: u64 = i64::MAX as u64;

/// A whole number. JSON makes no difference between `3` and `3.0`.
pub(crate) fn whole(number: &Number) -> Option<u64> {
    let number = number.as_u64().or_else(|| from_float(number.as_f64()?))?;
    (number <= MAX).then_some(number)
}

fn from_float(number: f64) -> Option<u64> {
    let is_whole = number.fract() == 0.0 && (0.0..MAX as f64).contains(&number);
    is_whole.then_some(number as u64)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn whole_numbers_are_read_in_every_json_notation() {
        let table = [
            ("0", Some(0)),
            ("3.0", Some(3)),
            ("1e16", Some(10_000_000_000_000_000)),
            ("9223372036854775807", Some(MAX)),
            ("9223372036854775808", None),
            ("9223372036854775808.0", None),
            ("1e300", None),
            ("2.5", None),
            ("-1", None),
            ("-1.0", None),
        ];
        for (text, expected) in table {
            let Ok(Value::Number(number)) = serde_json::from_str(text) else { panic!("{text}") };
            assert_eq!(whole(&number), expected, "{text}");
        }
    }
}
