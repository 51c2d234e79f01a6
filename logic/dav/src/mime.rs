//! Media types by the extension of a file's name.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Serialize;

use crate::text::is_token;

/// Media types by extension: the operator's entries, and the built-in table for all other extensions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct MediaTypes(BTreeMap<String, String>);

/// The reason to refuse an entry of the operator.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MediaTypeError {
    /// The extension is empty or has a character that no extension can have, such as a dot.
    #[error("{0:?} is not the extension of a name: expected one such as \"dat\", without a dot")]
    Extension(String),
    /// The media type does not follow the grammar of RFC 9110 section 8.3.1.
    #[error("{0:?} is not a media type such as \"text/plain; charset=utf-8\"")]
    Type(String),
    /// The extension has an entry already, ignoring case.
    #[error("{0:?} is there twice")]
    Repeated(String),
}

impl MediaTypes {
    /// Sets the media type of an extension; it takes precedence over the built-in table.
    ///
    /// # Errors
    /// If the extension or the media type is invalid, or if the extension has an entry already.
    pub fn set(&mut self, extension: &str, content_type: &str) -> Result<(), MediaTypeError> {
        let ends_names = |c: char| !matches!(c, '.' | '/') && !c.is_whitespace() && !c.is_control();
        if extension.is_empty() || !extension.chars().all(ends_names) {
            return Err(MediaTypeError::Extension(extension.to_owned()));
        }
        let Some(content_type) = normal(content_type) else {
            return Err(MediaTypeError::Type(content_type.to_owned()));
        };
        match self.0.insert(extension.to_ascii_lowercase(), content_type) {
            None => Ok(()),
            Some(_) => Err(MediaTypeError::Repeated(extension.to_owned())),
        }
    }

    /// Returns the Content-Type of a file by its name, see [`content_type`].
    pub fn of(&self, name: &[u8]) -> Cow<'static, str> {
        match self.own(name) {
            Some(own) => Cow::Owned(own.to_owned()),
            None => Cow::Borrowed(content_type(name)),
        }
    }

    fn own(&self, name: &[u8]) -> Option<&str> {
        if self.0.is_empty() {
            return None;
        }
        let extension = std::str::from_utf8(extension(name)?).ok()?.to_ascii_lowercase();
        self.0.get(&extension).map(String::as_str)
    }

    /// Returns the operator's entries: extensions in lower case, each with its Content-Type.
    pub fn entries(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(extension, content_type)| (extension.as_str(), content_type.as_str()))
    }
}

/// Returns the bytes after the last dot. A name such as `.profile`, whose only dot is the first byte, has no
/// extension.
fn extension(name: &[u8]) -> Option<&[u8]> {
    let dot = name.iter().rposition(|byte| *byte == b'.').filter(|dot| *dot > 0)?;
    name.get(dot + 1..)
}

/// Normalises a Content-Type: the type in lower case, as other code compares it. Returns `None` if it is
/// malformed.
fn normal(content_type: &str) -> Option<String> {
    let (media_type, parameters) =
        content_type.split_at(content_type.find(';').unwrap_or(content_type.len()));
    let (kind, subtype) = media_type.trim_end_matches(' ').split_once('/')?;
    let mut rest = parameters;
    while let Some(parameter) = rest.strip_prefix(';') {
        let (name, value) = parameter.split_once('=')?;
        let end = match value.strip_prefix('"') {
            // A backslash escape is refused; media types do not need it.
            Some(quoted) => quoted.find('"').filter(|end| quoted[..*end].bytes().all(is_plain))? + 2,
            None => value.find([';', ' ']).unwrap_or(value.len()),
        };
        let is_sound = value.starts_with('"') || is_text_token(&value[..end]);
        if !is_sound || !is_text_token(name.trim_start_matches(' ')) {
            return None;
        }
        rest = value[end..].trim_start_matches(' ');
    }
    let is_sound = rest.is_empty() && is_text_token(kind) && is_text_token(subtype);
    is_sound.then(|| format!("{}{parameters}", media_type.to_ascii_lowercase()))
}

fn is_text_token(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(is_token)
}

/// Returns true if a quoted string may contain the byte without an escape.
fn is_plain(byte: u8) -> bool {
    matches!(byte, b' '..=b'~') && byte != b'\\'
}

/// Returns the Content-Type of a file by the extension of its name; text types have a charset. The default is
/// `application/octet-stream`.
pub fn content_type(name: &[u8]) -> &'static str {
    let mut lower = [0u8; EXTENSION_BYTES_MAX];
    let Some(written) = extension(name) else { return UNKNOWN };
    let Some(lower) = lower.get_mut(..written.len()) else { return UNKNOWN };
    lower.copy_from_slice(written);
    lower.make_ascii_lowercase();
    match TYPES.binary_search_by(|(known, _)| known.as_bytes().cmp(lower)) {
        Ok(at) => TYPES[at].1,
        Err(_) => UNKNOWN,
    }
}

/// Replaces the charset of a Content-Type if it is a text type; returns other types unchanged.
pub fn with_charset(content_type: &str, charset: &str) -> String {
    let mut parts = content_type.split(';').map(str::trim);
    let media_type = parts.next().unwrap_or_default();
    let lower = media_type.to_ascii_lowercase();
    let is_text = lower.starts_with("text/")
        || ["+xml", "/xml", "/json", "/javascript"].iter().any(|end| lower.ends_with(end));
    if !is_text {
        return content_type.to_owned();
    }
    let is_charset = |parameter: &str| {
        parameter.split_once('=').is_some_and(|(name, _)| name.trim().eq_ignore_ascii_case("charset"))
    };
    let mut with = media_type.to_owned();
    for parameter in parts.filter(|parameter| !parameter.is_empty() && !is_charset(parameter)) {
        with.push_str("; ");
        with.push_str(parameter);
    }
    with.push_str("; charset=");
    with.push_str(charset);
    with
}

const UNKNOWN: &str = "application/octet-stream";
const EXTENSION_BYTES_MAX: usize = 11;

/// The built-in table, sorted by extension. Types are from the IANA registry or in common use.
const TYPES: [(&str, &str); 94] = [
    ("7z", "application/x-7z-compressed"),
    ("aac", "audio/aac"),
    ("apk", "application/vnd.android.package-archive"),
    ("atom", "application/atom+xml"),
    ("avi", "video/x-msvideo"),
    ("avif", "image/avif"),
    ("bin", "application/octet-stream"),
    ("bmp", "image/bmp"),
    ("br", "application/octet-stream"),
    ("bz2", "application/x-bzip2"),
    ("c", "text/plain; charset=utf-8"),
    ("conf", "text/plain; charset=utf-8"),
    ("css", "text/css; charset=utf-8"),
    ("csv", "text/csv; charset=utf-8"),
    ("deb", "application/vnd.debian.binary-package"),
    ("doc", "application/msword"),
    ("docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    ("eot", "application/vnd.ms-fontobject"),
    ("eps", "application/postscript"),
    ("epub", "application/epub+zip"),
    ("fits", "image/fits"),
    ("flac", "audio/flac"),
    ("geojson", "application/geo+json"),
    ("gif", "image/gif"),
    ("grib", "application/grib"),
    ("gz", "application/gzip"),
    ("h", "text/plain; charset=utf-8"),
    ("h5", "application/x-hdf5"),
    ("hdf5", "application/x-hdf5"),
    ("heic", "image/heic"),
    ("htm", "text/html; charset=utf-8"),
    ("html", "text/html; charset=utf-8"),
    ("ico", "image/vnd.microsoft.icon"),
    ("ics", "text/calendar; charset=utf-8"),
    ("ini", "text/plain; charset=utf-8"),
    ("iso", "application/x-iso9660-image"),
    ("jar", "application/java-archive"),
    ("jpeg", "image/jpeg"),
    ("jpg", "image/jpeg"),
    ("js", "text/javascript; charset=utf-8"),
    ("json", "application/json"),
    ("jsonl", "application/jsonl"),
    ("jsonld", "application/ld+json"),
    ("jxl", "image/jxl"),
    ("log", "text/plain; charset=utf-8"),
    ("m3u8", "application/vnd.apple.mpegurl"),
    ("m4a", "audio/mp4"),
    ("m4v", "video/mp4"),
    ("map", "application/json"),
    ("md", "text/markdown; charset=utf-8"),
    ("mid", "audio/midi"),
    ("mjs", "text/javascript; charset=utf-8"),
    ("mkv", "video/matroska"),
    ("mov", "video/quicktime"),
    ("mp3", "audio/mpeg"),
    ("mp4", "video/mp4"),
    ("mpeg", "video/mpeg"),
    ("nc", "application/netcdf"),
    ("odp", "application/vnd.oasis.opendocument.presentation"),
    ("ods", "application/vnd.oasis.opendocument.spreadsheet"),
    ("odt", "application/vnd.oasis.opendocument.text"),
    ("ogg", "audio/ogg"),
    ("otf", "font/otf"),
    ("parquet", "application/vnd.apache.parquet"),
    ("pdf", "application/pdf"),
    ("png", "image/png"),
    ("ppt", "application/vnd.ms-powerpoint"),
    ("pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"),
    ("ps", "application/postscript"),
    ("py", "text/x-python; charset=utf-8"),
    ("rpm", "application/x-rpm"),
    ("rtf", "application/rtf"),
    ("sh", "text/x-shellscript; charset=utf-8"),
    ("svg", "image/svg+xml"),
    ("tar", "application/x-tar"),
    ("tgz", "application/gzip"),
    ("tif", "image/tiff"),
    ("tiff", "image/tiff"),
    ("toml", "application/toml"),
    ("ts", "video/mp2t"),
    ("ttf", "font/ttf"),
    ("txt", "text/plain; charset=utf-8"),
    ("wasm", "application/wasm"),
    ("wav", "audio/wav"),
    ("webm", "video/webm"),
    ("webp", "image/webp"),
    ("woff", "font/woff"),
    ("woff2", "font/woff2"),
    ("xls", "application/vnd.ms-excel"),
    ("xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    ("xml", "application/xml"),
    ("yaml", "application/yaml"),
    ("zip", "application/zip"),
    ("zst", "application/zstd"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_gets_another_charset_and_nothing_else_does() {
        let with = |content_type| with_charset(content_type, "koi8-r");
        assert_eq!(with("text/plain"), "text/plain; charset=koi8-r");
        assert_eq!(with("Text/HTML;level=1 ; Charset=utf-8"), "Text/HTML; level=1; charset=koi8-r");
        assert_eq!(with("application/json"), "application/json; charset=koi8-r");
        assert_eq!(with("image/png"), "image/png");
        assert_eq!(with(""), "");
    }

    #[test]
    fn the_table_is_sorted_and_every_row_is_found() {
        assert!(TYPES.windows(2).all(|two| two[0].0 < two[1].0));
        for (extension, media_type) in TYPES {
            assert_eq!(content_type(format!("a.b.{extension}").as_bytes()), media_type);
            assert!(
                media_type.starts_with("text/") == media_type.ends_with("; charset=utf-8"),
                "{media_type}"
            );
        }
    }

    #[test]
    fn what_an_operator_says_goes_before_the_table() {
        let mut types = MediaTypes::default();
        types.set("root", "application/x-root").unwrap();
        types.set("LOG", "Text/Plain; charset=\"us-ascii\"").unwrap();
        assert_eq!(types.of(b"run.42.Root"), "application/x-root");
        assert_eq!(types.of(b"a.log"), "text/plain; charset=\"us-ascii\"");
        assert_eq!(types.of(b"a.html"), "text/html; charset=utf-8");
        for name in [&b"root"[..], b".root", b"a.root.", b"a.r\xff", b""] {
            assert_eq!(types.of(name), UNKNOWN);
        }
        assert_eq!(types.set("log", "text/plain"), Err(MediaTypeError::Repeated("log".to_owned())));
    }

    #[test]
    fn what_is_no_media_type_is_none() {
        let set = |extension: &str, content_type: &str| MediaTypes::default().set(extension, content_type);
        for sound in
            ["a/b", "text/x-y+z; charset=utf-8", "text/a;b=c;d=e", "text/a; b=\"c; d\" ; e=f", "text/a ; b=c"]
        {
            assert_eq!(set("a", sound), Ok(()), "{sound}");
        }
        for wrong in [
            "",
            "text",
            "text/",
            "/plain",
            "a/b/c",
            "te xt/plain",
            "text/plain;",
            "text/plain; charset",
            "text/plain; charset=",
            "text/plain; a=b c",
            "text/plain; a=\"b",
            "text/plain\r\nA: b",
            "text/plain\n",
            "text/plain\r\n; a=b",
            "text/plain\t",
            "text/\u{e4}",
            "text/plain; a=\"\n\"",
            " text/plain",
        ] {
            assert_eq!(set("a", wrong), Err(MediaTypeError::Type(wrong.to_owned())), "{wrong}");
        }
        for wrong in ["", ".a", "tar.gz", "a/b", "a b", "a\n"] {
            assert_eq!(set(wrong, "a/b"), Err(MediaTypeError::Extension(wrong.to_owned())), "{wrong}");
        }
    }

    #[test]
    fn case_does_not_count_and_strange_names_have_no_type() {
        assert_eq!(content_type(b"A.HTML"), "text/html; charset=utf-8");
        for name in [
            &b""[..],
            b"a",
            b".html",
            b"a.",
            b"a.tar.unheardof",
            b"\xff.\xff",
            b"a.muchlongerthananyextension",
        ] {
            assert_eq!(content_type(name), UNKNOWN);
        }
    }
}
