//! Replies of agents: any bytes are read without a panic, and what is shown of them is bounded and printable.

use weir_wire::agent;

/// Runs the target on one input; panics when a property does not hold.
pub fn run(input: &[u8]) {
    if let Some(reply) = agent::parse(input) {
        for text in [Some(reply.remark), reply.unknown].into_iter().flatten() {
            assert!(text.chars().count() <= 200 && !text.chars().any(char::is_control));
        }
    }
}
