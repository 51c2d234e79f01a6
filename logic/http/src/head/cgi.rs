/// A byte of a header name as CGI programs see it: in small letters, with `-` for all punctuation. RFC 3875 section 4.1.18
/// puts `_` for `-`; servers put it for every byte that is no letter or digit (Apache httpd `server/util_script.c`,
/// lighttpd `src/http_cgi.c`) and PHP for `.`, so that `X.User`, `X_User` and `X-User` are one variable.
#[inline]
pub const fn fold_for_cgi(byte: u8) -> u8 {
    if byte.is_ascii_alphanumeric() { byte.to_ascii_lowercase() } else { b'-' }
}
