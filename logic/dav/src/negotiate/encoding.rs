use crate::text::{elements, weighted};

/// The content codings for which a file may have a compressed sibling (RFC 9110 section 8.4.1, RFC 7932, RFC 8878).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Coding {
    /// `br`
    Brotli,
    /// `zstd`
    Zstd,
    /// `gzip`
    Gzip,
}

impl Coding {
    /// All of them, those that compress better first.
    pub const ALL: [Self; 3] = [Self::Brotli, Self::Zstd, Self::Gzip];

    /// Its name in Content-Encoding.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Brotli => "br",
            Self::Zstd => "zstd",
            Self::Gzip => "gzip",
        }
    }

    /// What the sibling's name ends in, e.g. `index.html.br`.
    pub const fn suffix(self) -> &'static str {
        match self {
            Self::Brotli => ".br",
            Self::Zstd => ".zst",
            Self::Gzip => ".gz",
        }
    }

    /// Which of the `available` codings to send: the one that Accept-Encoding gives the highest weight (RFC 9110 section
    /// 12.5.3), of equals the one that comes first. `None` = the file as it is: there is no header, nothing acceptable,
    /// or the client weighs `identity` higher.
    pub fn choose(accept_encoding: Option<&[u8]>, available: &[Self]) -> Option<Self> {
        let accept = accept_encoding?;
        let mut best = None;
        // Without a weight of its own, identity is acceptable, but less than anything that is asked for by name.
        let mut best_quality = explicit(accept, b"identity").unwrap_or(0);
        for coding in available {
            let quality = coding.quality(accept);
            let wins = quality > best_quality || (best.is_none() && quality == best_quality);
            if quality > 0 && wins {
                (best, best_quality) = (Some(*coding), quality);
            }
        }
        best
    }

    fn quality(self, accept: &[u8]) -> u16 {
        let named = explicit(accept, self.name().as_bytes());
        let alias = || (self == Self::Gzip).then(|| explicit(accept, b"x-gzip")).flatten();
        named.or_else(alias).or_else(|| explicit(accept, b"*")).unwrap_or(0)
    }
}

/// The weight that the list gives this name.
fn explicit(accept: &[u8], name: &[u8]) -> Option<u16> {
    let found = elements(accept).filter_map(weighted).find(|(element, _)| element.eq_ignore_ascii_case(name));
    found.map(|(_, quality)| quality)
}

#[cfg(test)]
mod tests {
    use super::Coding::*;
    use super::*;

    #[test]
    fn the_heaviest_available_coding_wins() {
        let all = &Coding::ALL[..];
        for (accept, available, chosen) in [
            (None, all, None),
            (Some(""), all, None),
            (Some("gzip"), all, Some(Gzip)),
            (Some("x-gzip"), all, Some(Gzip)),
            (Some("GZIP, Br"), all, Some(Brotli)),
            (Some("gzip, deflate, br, zstd"), all, Some(Brotli)),
            (Some("gzip, deflate, br, zstd"), &[Zstd, Brotli][..], Some(Zstd)),
            (Some("gzip;q=1.0, br;q=0.5"), all, Some(Gzip)),
            (Some("gzip;q=0, *"), all, Some(Brotli)),
            (Some("gzip;q=0, *"), &[Gzip][..], None),
            (Some("*;q=0.1"), &[Gzip][..], Some(Gzip)),
            (Some("br"), &[Gzip][..], None),
            (Some("gzip;q=0.5, identity"), all, None),
            (Some("gzip;q=0.5, identity;q=0.5"), all, Some(Gzip)),
            (Some("gzip;q=0.5, identity;q=0.2"), all, Some(Gzip)),
            (Some("identity;q=0, gzip;q=0"), all, None),
            (Some("gzip;q=banana"), all, None),
            (Some("gzip"), &[][..], None),
        ] {
            assert_eq!(Coding::choose(accept.map(str::as_bytes), available), chosen, "{accept:?}");
        }
    }
}
