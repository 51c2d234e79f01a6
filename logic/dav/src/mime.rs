//! Media types by the end of a file's name.

/// The Content-Type of a file, from the extension of its name; text types with their charset. What is not known is
/// `application/octet-stream`.
pub fn content_type(name: &[u8]) -> &'static str {
    let mut extension = [0u8; EXTENSION_BYTES_MAX];
    let Some(dot) = name.iter().rposition(|byte| *byte == b'.') else { return UNKNOWN };
    let written = &name[dot + 1..];
    // A name such as `.profile` has no extension, it has a dot before it.
    let Some(extension) = extension.get_mut(..written.len()).filter(|_| dot > 0) else { return UNKNOWN };
    extension.copy_from_slice(written);
    extension.make_ascii_lowercase();
    match TYPES.binary_search_by(|(known, _)| known.as_bytes().cmp(extension)) {
        Ok(at) => TYPES[at].1,
        Err(_) => UNKNOWN,
    }
}

/// A Content-Type with another character set, if it is one of texts; else as it is.
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

/// Sorted by extension. Types as the IANA registry has them, or as they are in common use.
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
