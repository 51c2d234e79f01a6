//! Keys of `[pool.NAME.offload]`.

use crate::schema::Kind::{Choice, Flag, Tables, Text};
use crate::schema::Presence::{Default, Otherwise, Required};
use crate::schema::{Section, key};

pub(crate) static OFFLOAD: Section = Section {
    noun: "",
    title: "[pool.NAME.offload]",
    meaning: "Lets the servers of the pool name a file by `X-Accel-Redirect`, which is then sent in place of their body. Without \
              this table such headers do nothing; clients never see them.",
    keys: &[
        key(
            "location",
            Tables(&LOCATION),
            Required,
            "{ prefix = \"/internal\", root = \"/srv/data\" }",
            "The files that may be named, and how. The location with the longest prefix counts.",
        ),
        key(
            "x-sendfile",
            Flag,
            Default("false"),
            "true",
            "Whether servers may also name a file by its path, in `X-Sendfile`. It must be below the root of a location.",
        ),
        key(
            "uploads",
            Flag,
            Default("false"),
            "true",
            "Whether servers are only asked about a PUT, before and after, and its body is stored from here. They must speak the \
             protocol of PUT offload. At least one location must be a storage area that is not `read-only`.",
        ),
    ],
};

pub(crate) static LOCATION: Section = Section {
    noun: "location",
    title: "[[pool.NAME.offload.location]]",
    meaning: "Files that servers may name. No name, link or race leads out of their root.",
    keys: &[
        key(
            "prefix",
            Text("a path"),
            Required,
            "\"/internal\"",
            "What URIs in `X-Accel-Redirect` begin with; the rest is looked up below the root. Compared by whole segments.",
        ),
        key(
            "root",
            Text("a path"),
            Otherwise("`storage-area` says where the files are"),
            "\"/srv/data\"",
            "The directory of the files.",
        ),
        key(
            "storage-area",
            Text("the name of a storage area"),
            Otherwise("`root` says where the files are"),
            "\"data\"",
            "The storage area of the files: its root, its threads and its links. Whom its rules permit to read them does not \
             matter: the server has decided that.",
        ),
        key(
            "symlinks",
            Choice(&["never", "inside-root", "owner-match"]),
            Default("\"never\""),
            "\"inside-root\"",
            "Which symbolic links below `root` are followed, as for storage areas.",
        ),
        key(
            "percent-encoded",
            Flag,
            Default("true"),
            "false",
            "Whether URIs are percent-encoded, as they should be. `false` for servers that write names as they are, as StoRM \
             WebDAV does: then `%` and `?` are characters like others.",
        ),
    ],
};
