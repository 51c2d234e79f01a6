//! The formats of the metrics page.

/// Variant of the text format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exposition {
    /// Prometheus text format 0.0.4.
    Prometheus,
    /// OpenMetrics 1.0.0.
    OpenMetrics,
}

impl Exposition {
    /// Returns the format for a client with this Accept header: OpenMetrics if the header names it.
    pub fn asked_for(accept: &str) -> Self {
        let wants = |range: &str| {
            let mut parts = range.split(';').map(str::trim);
            let name = parts.next().unwrap_or_default();
            let refused = parts.any(|part| matches!(part, "q=0" | "q=0.0" | "q=0.00" | "q=0.000"));
            name.eq_ignore_ascii_case("application/openmetrics-text") && !refused
        };
        if accept.split(',').any(wants) { Self::OpenMetrics } else { Self::Prometheus }
    }

    /// Returns the Content-Type header.
    pub const fn content_type(self) -> &'static str {
        match self {
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn openmetrics_is_for_those_who_ask_for_it() {
        let prometheus =
            "application/openmetrics-text;version=1.0.0;q=0.8,text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
        assert_eq!(Exposition::asked_for(prometheus), Exposition::OpenMetrics);
        for accept in ["", "*/*", "text/plain", "application/openmetrics-text;q=0, text/plain"] {
            assert_eq!(Exposition::asked_for(accept), Exposition::Prometheus, "{accept}");
        }
    }
}
