//! The source of a secret: a file or an environment variable.

use std::path::PathBuf;

use serde::Serialize;

use super::paths::path_if;
use super::print::path;
use super::writer::Writer;
use crate::syntax::tree::short;
use crate::values::table::Table;

/// The source of a secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SecretPlace {
    /// A file.
    File(PathBuf),
    /// An environment variable.
    Env(String),
}

/// Reads the source of a secret from its two keys.
pub(crate) fn secret_place(
    table: &Table<'_, '_>,
    file_key: &'static str,
    env_key: &'static str,
) -> Option<SecretPlace> {
    let file = path_if(table, file_key).map(SecretPlace::File);
    let env = table.text_if(env_key).map(|name| {
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if name.value.is_empty() || !name.value.chars().all(is_name) {
            table.error(
                env_key,
                name.span,
                format!("{:?} is not the name of a variable", short(&name.value)),
            );
        }
        SecretPlace::Env(name.value)
    });
    if let (Some(_), Some(_), Some(node)) = (&file, &env, table.get(env_key)) {
        table.error(env_key, node.span, format!("{file_key} says where the secret is already"));
    }
    file.or(env)
}

/// Prints the keys that give the source of a secret. Their names begin with `prefix`.
pub(crate) fn secret(writer: &mut Writer, prefix: &str, place: Option<&SecretPlace>) {
    match place {
        Some(SecretPlace::File(file)) => writer.key(&format!("{prefix}key-file"), path(file)),
        Some(SecretPlace::Env(name)) => writer.key(&format!("{prefix}key-env"), name),
        None => {}
    }
}
