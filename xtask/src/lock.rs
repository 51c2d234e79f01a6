//! Reads Cargo.lock and lists the packages that one package is built from.

use std::collections::{BTreeSet, HashMap};

use toml::{Table, Value};

/// Lists `package` and everything that it is built or tested with, each with its version and checksum, in
/// sorted order. The result does not change when only other packages of the workspace change their
/// dependencies.
///
/// # Errors
/// If the text is not a lock file or does not contain the package.
pub(crate) fn built_of(lock: &str, package: &str) -> Result<String, String> {
    let table: Table = lock.parse().map_err(|error| format!("{error}"))?;
    let packages = table.get("package").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let by_name = packages.iter().fold(HashMap::<_, Vec<_>>::new(), |mut by_name, one| {
        by_name.entry(text(one, "name")).or_default().push(one);
        by_name
    });
    let mut found = BTreeSet::new();
    let mut to_do = vec![package.to_owned()];
    while let Some(reference) = to_do.pop() {
        // A reference is a name. A version follows if the name is ambiguous, and a source if the version is,
        // too.
        let mut words = reference.split(' ');
        let (name, version) = (words.next().unwrap_or_default(), words.next());
        let those = by_name.get(name).ok_or_else(|| format!("no package {name}"))?;
        let is_meant = |one: &&&Value| version.is_none_or(|version| text(one, "version") == version);
        for one in those.iter().filter(is_meant) {
            let spelled = format!("{name} {} {}", text(one, "version"), text(one, "checksum"));
            if found.insert(spelled) {
                let needs = one.get("dependencies").and_then(Value::as_array);
                to_do.extend(needs.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned));
            }
        }
    }
    Ok(found.into_iter().collect::<Vec<_>>().join("\n"))
}

fn text<'a>(package: &'a Value, key: &str) -> &'a str {
    package.get(key).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCK: &str = "
version = 4

[[package]]
name = \"weir\"
version = \"0.1.0\"
dependencies = [\"syn 2.0.1\", \"tokio\"]

[[package]]
name = \"tokio\"
version = \"1.2.0\"
checksum = \"aa\"
dependencies = [\"syn 2.0.1\"]

[[package]]
name = \"syn\"
version = \"2.0.1\"
checksum = \"bb\"

[[package]]
name = \"syn\"
version = \"3.0.0\"
checksum = \"cc\"

[[package]]
name = \"weir-fuzz\"
version = \"0.1.0\"
dependencies = [\"syn 3.0.0\", \"tokio\"]
";

    #[test]
    fn what_others_alone_need_is_not_among_it() {
        assert_eq!(built_of(LOCK, "weir").unwrap(), "syn 2.0.1 bb\ntokio 1.2.0 aa\nweir 0.1.0 ");
    }

    #[test]
    fn another_version_or_checksum_of_what_it_needs_differs() {
        let before = built_of(LOCK, "weir").unwrap();
        assert_ne!(built_of(&LOCK.replace("\"aa\"", "\"dd\""), "weir").unwrap(), before);
        assert_ne!(built_of(&LOCK.replace("1.2.0", "1.3.0"), "weir").unwrap(), before);
        assert_eq!(built_of(&LOCK.replace("\"cc\"", "\"dd\""), "weir").unwrap(), before);
    }

    #[test]
    fn what_is_no_lock_file_or_lacks_the_package_is_refused() {
        assert!(built_of("one", "weir").is_err());
        assert_eq!(built_of("version = 4", "weir").unwrap_err(), "no package weir");
    }
}
