//! Timestamps that Windows clients set as properties in a namespace of their own ([MS-WDVSE] section 2.2.10).

use super::PropertyUpdate;
use crate::date::parse_http_date;

const NAMESPACE: &str = "urn:schemas-microsoft-com:";

/// The value of `Win32LastModifiedTime` is not a date.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BadWin32Time;

/// Returns the modification time that an instruction sets, in seconds since 1970; `None` for other
/// instructions.
pub fn win32_modified_s(update: &PropertyUpdate) -> Option<Result<i64, BadWin32Time>> {
    let PropertyUpdate::Set(value) = update else { return None };
    let name = value.name();
    if name.namespace() != NAMESPACE || name.local() != "Win32LastModifiedTime" {
        return None;
    }
    let text = value.as_str();
    let content = text.find('>').zip(text.rfind("</")).and_then(|(start, end)| text.get(start + 1..end));
    Some(content.and_then(|content| parse_http_date(content.trim().as_bytes())).ok_or(BadWin32Time))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::xml::{Fragment, XmlLimits};

    fn read(xml: &str) -> Option<Result<i64, BadWin32Time>> {
        win32_modified_s(&PropertyUpdate::Set(Fragment::parse(xml, &XmlLimits::default()).unwrap()))
    }

    #[test]
    fn the_time_of_last_change_is_read_and_nothing_else_is_taken_for_it() {
        let of = |name: &str, text: &str| read(&format!("<a:{name} xmlns:a='{NAMESPACE}'>{text}</a:{name}>"));
        let date = "Tue, 05 Mar 2019 10:11:12 GMT";
        assert_eq!(of("Win32LastModifiedTime", date), Some(Ok(1_551_780_672)));
        assert_eq!(of("Win32LastModifiedTime", &format!("\n {date} ")), Some(Ok(1_551_780_672)));
        for wrong in ["", "yesterday", "<b/>", "2019-03-05T10:11:12Z"] {
            assert_eq!(of("Win32LastModifiedTime", wrong), Some(Err(BadWin32Time)), "{wrong}");
        }
        assert_eq!(of("Win32CreationTime", date), None);
        assert_eq!(read(&format!("<Win32LastModifiedTime>{date}</Win32LastModifiedTime>")), None);
    }
}
