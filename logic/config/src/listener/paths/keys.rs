//! Keys of `[listener.NAME.paths]`.

use crate::schema::Kind::{Choice, Flag};
use crate::schema::Presence::Default;
use crate::schema::{Section, key};

pub(crate) static PATHS: Section = Section {
    noun: "",
    title: "[listener.NAME.paths]",
    meaning: "How the paths of requests are read. Routes, expressions, keys and rewrites compare the path without dot segments and \
              repeated slashes and in one percent-encoding (`/x/../%61dmin` is `/admin`). A server gets it without dot segments and \
              repeated slashes, otherwise encoded as the client sent it. A path that two readers could take for two \
              different ones is refused with 400, unless a key says how to read it.",
    keys: &[
        key(
            "merge-slashes",
            Flag,
            Default("true"),
            "false",
            "`//` is read as `/`. `false` = an empty segment counts, as object stores have it.",
        ),
        key(
            "encoded-slash",
            Choice(&["refuse", "keep", "decode"]),
            Default("\"refuse\""),
            "\"keep\"",
            "`%2F`. `keep` = a character of its segment: for servers that do not decode it before they compare paths, such as \
             GitLab's API. `decode` = a slash.",
        ),
        key(
            "backslash",
            Choice(&["refuse", "keep", "slash"]),
            Default("\"refuse\""),
            "\"slash\"",
            "`\\` and `%5C`. `refuse` = except for storage areas, whose files can have it in their names. `keep` = a character, sent \
             as `%5C`. `slash` = a slash, as IIS takes it.",
        ),
        key(
            "parameters",
            Choice(&["ignore", "keep", "refuse"]),
            Default("\"ignore\""),
            "\"keep\"",
            "What follows `;` or `%3B` in a segment (`/a;jsessionid=1`). `ignore` = not compared, but sent, as servlet containers have \
             it; a dot segment with parameters (`..;`) is refused. `keep` = a part of the name.",
        ),
        key(
            "above-root",
            Choice(&["refuse", "stay"]),
            Default("\"refuse\""),
            "\"stay\"",
            "`..` with nothing to remove. `stay` = it is left out (RFC 3986 section 5.2.4).",
        ),
        key(
            "bad-escape",
            Choice(&["refuse", "keep"]),
            Default("\"refuse\""),
            "\"keep\"",
            "A `%` without two hexadecimal digits. `keep` = a character, sent as it came.",
        ),
        key(
            "nul",
            Choice(&["refuse", "keep"]),
            Default("\"refuse\""),
            "\"keep\"",
            "`%00`. `keep` = a character: servers that end a text there see another path than the rules.",
        ),
    ],
};
