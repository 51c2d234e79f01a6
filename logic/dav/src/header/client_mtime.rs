//! The X-OC-Mtime request header.

use super::HeaderError;
use crate::text::trim;

/// Parses X-OC-Mtime, the modification time that clients such as ownCloud, Nextcloud and rclone send for a
/// file. The value is in seconds since 1970, negative before it; drops a fraction.
pub fn client_mtime(header: Option<&[u8]>) -> Result<Option<i64>, HeaderError> {
    let Some(header) = header else { return Ok(None) };
    let text = std::str::from_utf8(trim(header)).map_err(|_| HeaderError::ClientMtime)?;
    let (seconds, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let is_number = |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let is_plain = is_number(seconds.strip_prefix('-').unwrap_or(seconds)) && is_number(fraction);
    let seconds = seconds.parse().ok().filter(|_| is_plain);
    seconds.map(Some).ok_or(HeaderError::ClientMtime)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_read_and_what_is_no_time_is_refused() {
        for (text, seconds) in [("1551780672", 1_551_780_672), ("0", 0), ("-1", -1), (" 7.25 ", 7)] {
            assert_eq!(client_mtime(Some(text.as_bytes())), Ok(Some(seconds)), "{text}");
        }
        for text in
            ["", "-", "+1", "1e9", "1.", ".5", "1 2", "99999999999999999999", "Tue, 05 Mar 2019 10:11:12 GMT"]
        {
            assert_eq!(client_mtime(Some(text.as_bytes())), Err(HeaderError::ClientMtime), "{text}");
        }
        assert_eq!(client_mtime(None), Ok(None));
    }
}
