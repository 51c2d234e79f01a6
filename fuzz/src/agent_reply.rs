//! Fuzzes the replies of agents: no input panics, and the texts that are shown are bounded and printable.

use weir_wire::agent;

/// Runs the target on one input; panics if a property does not hold.
pub fn run(input: &[u8]) {
    if let Some(reply) = agent::parse(input) {
        for text in [Some(reply.remark), reply.unknown].into_iter().flatten() {
            assert!(text.chars().count() <= 200 && !text.chars().any(char::is_control));
        }
    }
}
