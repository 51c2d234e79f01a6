//! Keys of `[[storage-area.NAME.access.policy]]`.

use crate::schema::Kind::{Choice, OneOrMany, Tables, Text};
use crate::schema::Presence::{Default, Otherwise, Required};
use crate::schema::{Section, key};

pub(crate) static AREA_POLICY: Section = Section {
    noun: "policy",
    title: "[[storage-area.NAME.access.policy]]",
    meaning: "One fine-grained rule of a storage area.",
    keys: &[
        key(
            "description",
            Text("a text"),
            Required,
            "\"raw data stays\"",
            "What `weir storage explain` calls it.",
        ),
        key("effect", Choice(&["permit", "deny"]), Default("\"deny\""), "\"permit\"", "What it does."),
        key(
            "actions",
            OneOrMany(&Choice(&["list", "read", "write", "delete", "all"])),
            Required,
            "[\"read\", \"list\"]",
            "To what it does it.",
        ),
        key(
            "paths",
            OneOrMany(&Text("a path pattern")),
            Otherwise("everywhere"),
            "[\"/raw/**\"]",
            "Where, from the root of the area: `?` is one character, `*` any within a name, `**` any number of names.",
        ),
        key(
            "principals",
            Tables(&PRINCIPAL),
            Required,
            "[{ type = \"jwt-group\", issuer = \"https://iam.example.org/\", group = \"/cms\" }]",
            "To whom.",
        ),
    ],
};

pub(crate) static PRINCIPAL: Section = Section {
    noun: "",
    title: "A principal",
    meaning: "Whom a policy is about: a type, and the keys that the type needs.",
    keys: &[
        key(
            "type",
            Choice(&[
                "anyone",
                "any-authenticated-user",
                "anonymous",
                "vo",
                "vo-map",
                "fqan",
                "jwt-group",
                "jwt-scope",
                "jwt-issuer",
                "jwt-subject",
                "jwt-client",
                "x509-subject",
                "user",
            ]),
            Required,
            "\"jwt-group\"",
            "`anyone`, `any-authenticated-user` and `anonymous` need nothing more; `vo` and `vo-map` need `vo`; `fqan` needs \
             `fqan`; `jwt-group` needs `issuer` and `group`; `jwt-scope` `issuer` and `scope`; `jwt-issuer` `issuer`; \
             `jwt-subject` `issuer` and `subject`; `jwt-client` `issuer` and `client`; `x509-subject` `subject`; `user` `name`.",
        ),
        key("vo", Text("an organisation"), Otherwise("not for this type"), "\"cms\"", "Its name."),
        key(
            "fqan",
            Text("a VOMS group or role"),
            Otherwise("not for this type"),
            "\"/cms/Role=production\"",
            "As VOMS writes it.",
        ),
        key(
            "issuer",
            Text("the issuer of a token"),
            Otherwise("not for this type"),
            "\"https://iam.example.org/\"",
            "As `iss` says.",
        ),
        key("group", Text("a group"), Otherwise("not for this type"), "\"/cms\"", "Compared byte by byte."),
        key(
            "scope",
            Text("a scope"),
            Otherwise("not for this type"),
            "\"data:read\"",
            "One word of the token's scope.",
        ),
        key(
            "subject",
            Text("a subject"),
            Otherwise("not for this type"),
            "\"CN=Ada,O=Example\"",
            "`sub` of a token, or the subject of a certificate as RFC 2253 writes it.",
        ),
        key(
            "client",
            Text("a client"),
            Otherwise("not for this type"),
            "\"fts\"",
            "`client_id` or `azp` of a token.",
        ),
        key("name", Text("a user"), Otherwise("not for this type"), "\"ada\"", "A user with a password."),
    ],
};
