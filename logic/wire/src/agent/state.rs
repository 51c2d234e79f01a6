//! The state that the replies of one agent add up to.

use super::{AgentCondition, AgentReply, AgentWish};

/// The state from all replies of an agent so far (HAProxy's agent-check). A property that a reply does not
/// mention keeps its value. A missing reply changes nothing.
///
/// One rule differs from HAProxy. There, the agent and the operator set the same state, so `ready` also
/// revokes the operator's setting. Here, an agent revokes only its own settings, and the stricter of the two
/// states applies.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentState {
    weight_percent: Option<u32>,
    connections_max: Option<u32>,
    wish: Option<AgentWish>,
    condition: Option<AgentCondition>,
}

impl AgentState {
    /// Applies a reply. Returns true if it changed the state.
    pub fn on_reply(&mut self, reply: &AgentReply) -> bool {
        let before = self.clone();
        self.weight_percent = reply.weight_percent.or(self.weight_percent);
        self.connections_max = reply.connections_max.or(self.connections_max);
        self.wish = reply.wish.or(self.wish);
        self.condition = reply.condition.or(self.condition);
        *self != before
    }

    /// Returns true if the agent does not report the server as down.
    pub fn is_up(&self) -> bool {
        self.condition.is_none_or(|condition| condition == AgentCondition::Up)
    }

    /// Returns the administrative state that the agent requests.
    pub fn wish(&self) -> AgentWish {
        self.wish.unwrap_or(AgentWish::Ready)
    }

    /// Returns the percentage of the server's weight to use. With 0, the server gets no new requests, as if
    /// drained.
    pub fn weight_percent(&self) -> u32 {
        self.weight_percent.unwrap_or(100)
    }

    /// Returns the limit of concurrent requests that replaces the configured one; `Some(None)` = no limit.
    pub fn connections_max(&self) -> Option<Option<u32>> {
        self.connections_max.map(|max| Some(max).filter(|max| *max > 0))
    }

    /// Returns the state in the agent's words: `down drain 75% maxconn:30`. The text is empty if the agent
    /// has set nothing.
    pub fn words(&self) -> String {
        let words = [
            self.condition.map(|condition| condition.word().to_owned()),
            self.wish.map(|wish| wish.word().to_owned()),
            self.weight_percent.map(|percent| format!("{percent}%")),
            self.connections_max.map(|max| format!("maxconn:{max}")),
        ];
        words.into_iter().flatten().collect::<Vec<_>>().join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(lines: &[&str]) -> AgentState {
        let mut state = AgentState::default();
        for line in lines {
            state.on_reply(&crate::agent::parse(line.as_bytes()).unwrap_or_default());
        }
        state
    }

    #[test]
    fn an_agent_that_has_said_nothing_changes_nothing() {
        let state = AgentState::default();
        assert!(state.is_up());
        assert_eq!(
            (state.wish(), state.weight_percent(), state.connections_max()),
            (AgentWish::Ready, 100, None)
        );
        assert_eq!(state.words(), "");
    }

    #[test]
    fn what_a_reply_does_not_mention_stays_as_it_was() {
        let state = said(&["down drain", "50%", "maxconn:7"]);
        assert!(!state.is_up());
        assert_eq!((state.wish(), state.weight_percent()), (AgentWish::Drain, 50));
        assert_eq!(state.connections_max(), Some(Some(7)));
        assert_eq!(state.words(), "down drain 50% maxconn:7");
    }

    #[test]
    fn only_the_opposite_word_takes_a_word_back() {
        for word in ["down", "fail", "stopped"] {
            assert!(!said(&[word, "ready 100%"]).is_up(), "{word}");
            assert!(said(&[word, "up"]).is_up(), "{word}");
        }
        for word in ["drain", "maint"] {
            assert_ne!(said(&[word, "up 100%"]).wish(), AgentWish::Ready, "{word}");
            assert_eq!(said(&[word, "ready"]).wish(), AgentWish::Ready, "{word}");
        }
    }

    #[test]
    fn a_limit_of_nothing_is_no_limit() {
        assert_eq!(said(&["maxconn:0"]).connections_max(), Some(None));
    }

    #[test]
    fn a_reply_that_says_the_same_again_changes_nothing() {
        let mut state = said(&["up 75%"]);
        let reply = crate::agent::parse(b"75% up # still").unwrap_or_default();
        assert!(!state.on_reply(&reply));
        assert!(state.on_reply(&crate::agent::parse(b"74%").unwrap_or_default()));
    }
}
