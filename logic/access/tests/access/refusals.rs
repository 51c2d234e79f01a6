//! Tests of the status and challenge of refusals.

use weir_access::Action;
use weir_access::identity::{BasicUser, CredentialFault, Delegation, Identity};
use weir_access::jwt::TokenError;
use weir_access::wlcg::ScopeSet;
use weir_access::www_authenticate::{Refusal, Schemes, answer};

use crate::common::{bearer, path};

fn schemes(bearer: bool, basic: bool) -> Schemes {
    Schemes { bearer, basic, realm: "my \"data\"".to_owned() }
}

#[test]
fn each_refusal_has_its_status_and_challenge() {
    let expired = CredentialFault::Token(TokenError::Expired { ago_secs: 5 });
    let jo = Identity::Basic(BasicUser { name: "jo".to_owned() });
    let denied = |identity| Refusal::Denied { identity, action: &Action::Overwrite };
    let bearer_realm = r#"Bearer realm="my \"data\"""#;
    let basic_realm = r#"Basic realm="my \"data\"", charset="UTF-8""#;
    let (scoped, plain) = (bearer("storage.read:/", &[]), bearer("", &[]));
    let table: [(Refusal<'_>, u16, Vec<String>); 8] = [
        (denied(&Identity::Anonymous), 401, vec![bearer_realm.to_owned(), basic_realm.to_owned()]),
        (
            Refusal::Credential(&CredentialFault::Password),
            401,
            vec![bearer_realm.to_owned(), basic_realm.to_owned()],
        ),
        (
            Refusal::Credential(&expired),
            401,
            vec![format!("{bearer_realm}, error=\"invalid_token\", error_description=\"expired 5 s ago\"")],
        ),
        (
            Refusal::Credential(&CredentialFault::TokenAndPassword),
            400,
            vec![format!("{bearer_realm}, error=\"invalid_request\"")],
        ),
        (Refusal::MalformedCredential, 400, vec![format!("{bearer_realm}, error=\"invalid_request\"")]),
        (
            denied(&scoped),
            403,
            vec![format!("{bearer_realm}, error=\"insufficient_scope\", scope=\"storage.modify\"")],
        ),
        (denied(&plain), 403, vec![]),
        (denied(&jo), 403, vec![]),
    ];
    for (refusal, status, challenges) in table {
        let given = answer(refusal, &schemes(true, true));
        assert_eq!((given.status, given.challenges), (status, challenges), "{refusal:?}");
    }
}

/// A token with wider scopes does not help if its holder lacks the right.
#[test]
fn a_wider_token_is_asked_for_only_where_it_could_help() {
    let own = Identity::Delegated(Box::new(Delegation {
        holder: Identity::Basic(BasicUser { name: "jo".to_owned() }),
        scopes: ScopeSet::parse(["storage.read:/a"]),
        area: "data".to_owned(),
        proof: None,
        expires_unix_secs: 0,
        token_id: String::new(),
    }));
    let challenges = |at: &str| {
        let refusal = Refusal::denied(&own, &Action::Read, &path(at));
        let given = answer(refusal, &schemes(true, true));
        assert_eq!(given.status, 403);
        given.challenges.len()
    };
    assert_eq!((challenges("/a/x"), challenges("/b")), (0, 1));
}

#[test]
fn without_a_scheme_there_is_nothing_to_ask_for() {
    let refusal = Refusal::Denied { identity: &Identity::Anonymous, action: &Action::Read };
    let given = answer(refusal, &schemes(false, false));
    assert_eq!((given.status, given.challenges.len()), (403, 0));
    let given = answer(refusal, &schemes(false, true));
    assert_eq!((given.status, given.challenges.len()), (401, 1));
}
