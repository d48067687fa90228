//! Reads the serial number and the time of expiry of a certificate (RFC 5280).
//!
//! rustls has checked the certificate before, but shows neither. This reads the few elements in front of them.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// What an operator has to know about a certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Certificate {
    /// In hexadecimal digits, as `openssl x509 -serial` prints it.
    pub(crate) serial: String,
    pub(crate) expires: Timestamp,
}

const INTEGER: u8 = 0x02;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
const SEQUENCE: u8 = 0x30;
/// The tag of the optional version.
const VERSION: u8 = 0xa0;

impl Certificate {
    /// Reads a certificate in DER. `None` if it is malformed.
    pub(super) fn parse(der: &[u8]) -> Option<Self> {
        let certificate = Elements(der).next(SEQUENCE)?;
        let mut fields = Elements(Elements(certificate).next(SEQUENCE)?);
        if fields.0.first() == Some(&VERSION) {
            fields.next(VERSION)?;
        }
        let serial = fields.next(INTEGER)?;
        let _algorithm = fields.next(SEQUENCE)?;
        let _issuer = fields.next(SEQUENCE)?;
        let mut validity = Elements(fields.next(SEQUENCE)?);
        let _not_before = validity.any()?;
        let (tag, not_after) = validity.any()?;
        // A leading zero only marks a positive number.
        let serial = if let [0, rest @ ..] = serial
            && !rest.is_empty()
        {
            rest
        } else {
            serial
        };
        let serial = serial.iter().map(|byte| format!("{byte:02X}")).collect();
        Some(Self { serial, expires: time(tag, not_after)? })
    }
}

/// A sequence of elements, each with a tag and a length.
struct Elements<'a>(&'a [u8]);

impl<'a> Elements<'a> {
    /// The content of the next element, if it has this tag.
    fn next(&mut self, tag: u8) -> Option<&'a [u8]> {
        self.any().filter(|(found, _)| *found == tag).map(|(_, content)| content)
    }

    /// The tag and the content of the next element.
    fn any(&mut self) -> Option<(u8, &'a [u8])> {
        let (&[tag, length], rest) = self.0.split_first_chunk::<2>()?;
        let (length, rest) = match length {
            ..=0x7f => (usize::from(length), rest),
            // The length follows in as many bytes.
            0x81..=0x84 => {
                let (digits, rest) = rest.split_at_checked(usize::from(length - 0x80))?;
                (digits.iter().fold(0, |sum, digit| sum << 8 | usize::from(*digit)), rest)
            }
            _ => return None,
        };
        let (content, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        Some((tag, content))
    }
}

/// `YYMMDDhhmmssZ` or `YYYYMMDDhhmmssZ`, the only forms in certificates.
fn time(tag: u8, text: &[u8]) -> Option<Timestamp> {
    let text = std::str::from_utf8(text).ok()?.strip_suffix('Z')?;
    let (year, rest) = match tag {
        UTC_TIME => {
            let (year, rest) = text.split_at_checked(2)?;
            let year: i16 = year.parse().ok()?;
            (if year < 50 { 2000 + year } else { 1900 + year }, rest)
        }
        GENERALIZED_TIME => {
            let (year, rest) = text.split_at_checked(4)?;
            (year.parse().ok()?, rest)
        }
        _ => return None,
    };
    let number = |at: usize| rest.get(2 * at..2 * at + 2)?.parse::<i8>().ok();
    let [month, day, hour, minute, second] = [0, 1, 2, 3, 4].map(number);
    let time = DateTime::new(year, month?, day?, hour?, minute?, second?, 0).ok()?;
    (rest.len() == 10).then_some(())?;
    Some(time.to_zoned(TimeZone::UTC).ok()?.timestamp())
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, KeyPair, SerialNumber, date_time_ymd};

    use super::*;

    fn certificate(serial: &[u8], year: i32) -> Vec<u8> {
        let mut params = CertificateParams::new(["localhost".to_owned()]).unwrap();
        params.serial_number = Some(SerialNumber::from_slice(serial));
        params.not_after = date_time_ymd(year, 2, 28);
        params.self_signed(&KeyPair::generate().unwrap()).unwrap().der().to_vec()
    }

    #[test]
    fn serial_and_expiry_are_read_from_a_certificate() {
        // Dates from 2050 have another form.
        for (serial, digits, year) in
            [(&[0x7f, 1][..], "7F01", 2027), (&[0xff, 0xee], "FFEE", 2049), (&[5], "05", 2061)]
        {
            let parsed = Certificate::parse(&certificate(serial, year)).unwrap();
            assert_eq!(parsed.serial, digits);
            assert_eq!(parsed.expires.to_string(), format!("{year}-02-28T00:00:00Z"));
        }
    }

    #[test]
    fn a_damaged_certificate_is_refused() {
        let whole = certificate(&[1], 2030);
        for length in 0..whole.len() {
            assert_eq!(Certificate::parse(&whole[..length]), None);
        }
        for at in 0..whole.len().min(120) {
            let mut damaged = whole.clone();
            damaged[at] ^= 0xff;
            // It must not panic.
            let _ = Certificate::parse(&damaged);
        }
    }
}
