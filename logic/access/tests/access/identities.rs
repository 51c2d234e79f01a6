//! Tests of the choice among several credentials of a request.

use weir_access::identity::{BadPassword, BasicUser, CredentialFault, Identity, Presented, X509Subject};
use weir_access::jwt::TokenError;

use crate::common::{NOW, bearer, member};

fn certificate() -> X509Subject {
    X509Subject { subject: "CN=Jo".to_owned(), ..X509Subject::default() }
}

fn user() -> BasicUser {
    BasicUser { name: "jo".to_owned() }
}

#[test]
fn one_credential_counts_and_the_order_is_fixed() {
    let nobody = Presented::default().settle();
    assert_eq!(nobody, Ok(Identity::Anonymous));
    let token = Presented { token: Some(Ok(bearer("", &[]))), certificate: Some(certificate()), basic: None };
    assert_eq!(token.settle(), Ok(bearer("", &[])));
    let both = Presented { token: None, certificate: Some(certificate()), basic: Some(Ok(user())) };
    assert_eq!(both.settle(), Ok(Identity::X509(Box::new(certificate()))));
    let basic = Presented { basic: Some(Ok(user())), ..Presented::default() };
    assert_eq!(basic.settle(), Ok(Identity::Basic(user())));
}

#[test]
fn what_does_not_hold_never_falls_back_to_something_weaker() {
    let expired = || TokenError::Expired { ago_secs: 1 };
    let token = Presented { token: Some(Err(expired())), certificate: Some(certificate()), basic: None };
    assert_eq!(token.settle(), Err(CredentialFault::Token(expired())));
    let basic = Presented { token: None, certificate: Some(certificate()), basic: Some(Err(BadPassword)) };
    assert_eq!(basic.settle(), Err(CredentialFault::Password));
    let two = Presented { token: Some(Ok(bearer("", &[]))), certificate: None, basic: Some(Ok(user())) };
    assert_eq!(two.settle(), Err(CredentialFault::TokenAndPassword));
}

#[test]
fn an_identity_ends_with_the_first_of_its_parts() {
    assert_eq!(member("cms", &[]).expires_unix_secs(), Some(NOW + 100));
    assert_eq!(bearer("", &[]).expires_unix_secs(), Some(NOW + 600));
    assert_eq!(Identity::Anonymous.expires_unix_secs(), None);
}

#[test]
fn names_are_printed_without_control_characters() {
    let jo = Identity::Basic(BasicUser { name: "jo\nallowed: everything".to_owned() });
    assert_eq!(jo.to_string(), "user jo\u{fffd}allowed: everything");
    let long = Identity::Basic(BasicUser { name: "x".repeat(10_000) });
    assert!(long.to_string().len() < 250);
}
