//! Reads targets in the formats of vegeta.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

use crate::target::{Body, TargetSpec};

/// One line of vegeta's JSON format, with an additional weight.
#[derive(Deserialize)]
struct Line {
    method: String,
    url: String,
    #[serde(default)]
    header: BTreeMap<String, Vec<String>>,
    /// Body in base64.
    body: Option<String>,
    weight: Option<f64>,
}

/// Parses targets. If the first line begins with `{`, each line is a JSON object: `{"method": "PUT", "url":
/// "http://...", "header": {"X": ["y"]}, "body": "BASE64", "weight": 3}`. Otherwise each target has a request
/// line, headers and `@file-with-body`. Blank lines separate targets, and `#` begins a remark. Body files are
/// relative to `directory`.
///
/// # Errors
/// If a line is malformed. The text names the line.
pub fn parse_targets(text: &str, directory: &Path) -> Result<Vec<TargetSpec>, String> {
    let first = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'));
    let targets = match first {
        None => return Err("has no targets".to_owned()),
        Some(line) if line.starts_with('{') => parse_json(text)?,
        Some(_) => parse_http(text, directory)?,
    };
    const TARGETS_MAX: usize = 1_000_000;
    if targets.len() > TARGETS_MAX {
        return Err(format!("has {} targets; at most {TARGETS_MAX} are taken", targets.len()));
    }
    Ok(targets)
}

fn parse_json(text: &str) -> Result<Vec<TargetSpec>, String> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(at, text)| {
            let wrong = |cause: String| format!("line {}: {cause}", at + 1);
            let line: Line = serde_json::from_str(text).map_err(|cause| wrong(cause.to_string()))?;
            let body = match line.body.as_deref() {
                None | Some("") => Body::Empty,
                Some(body) => Body::Bytes(
                    STANDARD.decode(body).map_err(|_| wrong("the body is not base64".to_owned()))?.into(),
                ),
            };
            let headers = line
                .header
                .into_iter()
                .flat_map(|(name, values)| values.into_iter().map(move |value| (name.clone(), value)));
            Ok(TargetSpec {
                method: line.method,
                url: line.url,
                headers: headers.collect(),
                body,
                weight: line.weight,
            })
        })
        .collect()
}

fn parse_http(text: &str, directory: &Path) -> Result<Vec<TargetSpec>, String> {
    let mut targets: Vec<TargetSpec> = Vec::new();
    let mut is_open = false;
    for (at, line) in text.lines().enumerate() {
        let line = line.trim();
        let wrong = |cause: String| format!("line {}: {cause}", at + 1);
        let words = || line.split_once(char::is_whitespace);
        let is_request = || words().is_some_and(|(method, url)| !method.contains(':') && url.contains("://"));
        match targets.last_mut() {
            _ if line.starts_with('#') => {}
            _ if line.is_empty() => is_open = false,
            Some(target) if is_open && line.starts_with('@') => {
                target.body = Body::file(&directory.join(&line[1..])).map_err(wrong)?;
            }
            Some(target) if is_open && !is_request() => {
                let (name, value) =
                    line.split_once(':').ok_or_else(|| wrong(format!("{line:?} is no header")))?;
                target.headers.push((name.trim().to_owned(), value.trim().to_owned()));
            }
            _ => {
                let (method, url) = words()
                    .ok_or_else(|| wrong(format!("{line:?}: a target begins with a method and a URL")))?;
                targets.push(TargetSpec {
                    method: method.to_owned(),
                    url: url.trim().to_owned(),
                    ..TargetSpec::default()
                });
                is_open = true;
            }
        }
    }
    Ok(targets)
}

/// Parses methods with weights, such as `GET=70,PUT=20,PROPFIND=10`, and applies them to `base`. Methods
/// without content, such as GET and DELETE, get no body.
///
/// # Errors
/// If a part is not `METHOD=WEIGHT`.
pub fn parse_mix(text: &str, base: &TargetSpec) -> Result<Vec<TargetSpec>, String> {
    let part = |part: &str| {
        let wrong = || format!("{part:?}: a part of a mix is METHOD=WEIGHT");
        let (method, weight) = part.split_once('=').ok_or_else(wrong)?;
        let weight: f64 = weight.trim().parse().map_err(|_| wrong())?;
        let method = method.trim().to_owned();
        let body = match method.as_str() {
            "GET" | "HEAD" | "DELETE" | "OPTIONS" | "MKCOL" => Body::Empty,
            _ => base.body.clone(),
        };
        Ok(TargetSpec { method, body, weight: Some(weight), ..base.clone() })
    };
    text.split(',').map(part).collect()
}

/// Converts bytes to a body.
impl From<Vec<u8>> for Body {
    fn from(bytes: Vec<u8>) -> Self {
        if bytes.is_empty() { Self::Empty } else { Self::Bytes(Arc::from(bytes)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Vec<TargetSpec>, String> {
        parse_targets(text, Path::new("/nowhere"))
    }

    #[test]
    fn the_text_format_has_requests_with_headers_and_bodies() {
        let directory = weir_testkit::TempDir::new().unwrap();
        std::fs::write(directory.path().join("body"), b"12345").unwrap();
        let text =
            "# first\nGET http://a/x\nX-A: 1\nX-B: http://b\n\n\nPUT http://a/y\n@body\nDELETE http://a/z\n";
        let targets = parse_targets(text, directory.path()).unwrap();
        let shown: Vec<_> = targets
            .iter()
            .map(|target| {
                (target.method.as_str(), target.url.as_str(), target.headers.len(), target.body.bytes())
            })
            .collect();
        assert_eq!(
            shown,
            [("GET", "http://a/x", 2, 0), ("PUT", "http://a/y", 0, 5), ("DELETE", "http://a/z", 0, 0)]
        );
    }

    #[test]
    fn the_json_format_has_one_target_in_each_line() {
        let targets = parse(
            "{\"method\":\"POST\",\"url\":\"http://a/\",\"header\":{\"X\":[\"1\",\"2\"]},\"body\":\"aGk=\",\"weight\":3}\n",
        )
        .unwrap();
        assert_eq!(targets[0].headers.len(), 2);
        assert_eq!((targets[0].body.bytes(), targets[0].weight), (2, Some(3.0)));
    }

    #[test]
    fn a_mistake_is_told_with_its_line() {
        for (text, place) in [
            ("", "no targets"),
            ("GET http://a/\nnonsense", "line 2"),
            ("GET http://a/\n@missing", "line 2"),
            ("{\"method\":\"GET\",\"url\":\"http://a/\"}\n{}", "line 2"),
            ("{\"method\":\"GET\",\"url\":\"http://a/\",\"body\":\"?\"}", "base64"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(place), "{error}");
        }
    }

    #[test]
    fn a_mix_is_one_target_for_each_method() {
        let base = TargetSpec {
            url: "http://a/".to_owned(),
            body: Body::Generated { bytes: 5 },
            ..TargetSpec::default()
        };
        let mix = parse_mix("GET=70,PUT=30", &base).unwrap();
        assert_eq!(
            mix.iter().map(|target| (target.body.bytes(), target.weight)).collect::<Vec<_>>(),
            [(0, Some(70.0)), (5, Some(30.0))]
        );
        assert!(parse_mix("GET", &base).is_err());
    }
}
