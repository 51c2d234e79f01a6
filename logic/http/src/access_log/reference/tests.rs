//! Tests that the reference page is complete.

use super::*;
use crate::access_log::{Cause, Phase};

#[test]
fn every_field_of_a_line_is_in_its_table_and_in_its_place() {
    let names = |fields: &[Field]| fields.iter().map(|field| field.name).collect::<Vec<_>>();
    let json = line(LineFormat::Json, &request());
    let keys = |json: &str| members(json).into_iter().map(|(key, _)| key.to_owned()).collect::<Vec<_>>();
    let peer = Some(([10, 0, 0, 1], 40_000).into());
    let refused_by = Some(RefusalRule::BodyTooLarge);
    let mut rarer = AccessRecord { peer, refused_by, ..request() };
    if let Subject::Request(fields) = &mut rarer.subject {
        fields.path = Some(b"/index.html");
    }
    let rarer = line(LineFormat::Json, &rarer);
    assert_eq!(keys(&rarer), names(JSON));
    // The example omits the fields that its request cannot have.
    let rare = ["peer", "peer_port", "path", "refused_by"];
    assert_eq!(keys(&json), names(JSON).into_iter().filter(|name| !rare.contains(name)).collect::<Vec<_>>());
    for (key, value) in members(&json) {
        let whole: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(whole[key].to_string(), value, "{key}");
    }
    let count = |format, record: AccessRecord<'_>| tokens(&line(format, &record)).len();
    assert_eq!(count(LineFormat::Common, request()), COMMON.len());
    assert_eq!(count(LineFormat::Combined, request()), COMMON.len() + COMBINED.len());
    assert_eq!(count(LineFormat::Httplog, request()), HTTPLOG.len());
    assert_eq!(count(LineFormat::Httplog, connection()), TCPLOG.len());
    // A field with several numbers names each of them.
    for (field, value) in HTTPLOG.iter().zip(tokens(&line(LineFormat::Httplog, &request()))) {
        if field.name.contains('/') {
            assert_eq!(
                field.name.matches('/').count(),
                value.matches('/').count(),
                "{}: {value}",
                field.name
            );
        }
    }
}

#[test]
fn every_letter_and_every_code_is_explained_once() {
    let mut letters: Vec<_> =
        CAUSES.iter().map(|(cause, _)| Termination::new(*cause, Phase::Done).letters()[0]).collect();
    letters.sort_unstable();
    letters.dedup();
    assert_eq!(letters.len(), CAUSES.len());
    let mut letters: Vec<_> =
        PHASES.iter().map(|(phase, _)| Termination::new(Cause::Finished, *phase).letters()[1]).collect();
    letters.sort_unstable();
    letters.dedup();
    assert_eq!(letters.len(), PHASES.len());
    let mut codes: Vec<_> = CODES.iter().map(|(code, _)| code.code()).collect();
    codes.sort_unstable();
    codes.dedup();
    assert_eq!(codes.len(), CODES.len());
}
