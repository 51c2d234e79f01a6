//! Header names as CGI programs see them.

/// Folds a byte of a header name as CGI programs do: lower case, with `-` for all punctuation. RFC 3875
/// section 4.1.18 replaces `-` by `_`. Servers also replace every other byte that is not a letter or digit
/// (Apache httpd `server/util_script.c`, lighttpd `src/http_cgi.c`), and PHP replaces `.`. For a program,
/// `X.User`, `X_User` and `X-User` are therefore one variable.
#[inline]
pub const fn fold_for_cgi(byte: u8) -> u8 {
    if byte.is_ascii_alphanumeric() { byte.to_ascii_lowercase() } else { b'-' }
}
