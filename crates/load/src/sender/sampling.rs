//! Which coded bodies are kept to learn what compression saves: of each type the first, and then one in so many.
//!
//! By type and not by client: pages that compress to a quarter say nothing of scripts, and a run whose first answer is an
//! image must still learn of the others. Pure. Not here: decoding.

use crate::wire::Media;

/// One coded body of a type in so many is decoded; the first always.
const EVERY: u64 = 1024;
/// Types that are told apart; those beyond are not sampled.
const TYPES_MAX: usize = 64;

/// What one thread has seen of each type.
#[derive(Debug, Default)]
pub(super) struct Sampling {
    seen: Vec<(Media, u64)>,
}

impl Sampling {
    /// A coded body of this type begins: whether it is one to keep.
    pub fn is_due(&mut self, media: &Media) -> bool {
        let at = match self.seen.iter().position(|(known, _)| known == media) {
            Some(at) => at,
            None if self.seen.len() == TYPES_MAX => return false,
            None => {
                self.seen.push((*media, 0));
                self.seen.len() - 1
            }
        };
        let Some((_, seen)) = self.seen.get_mut(at) else { return false };
        *seen += 1;
        *seen % EVERY == 1
    }

    /// The one that was kept could not be used: the next of its type will do.
    pub fn missed(&mut self, media: &Media) {
        if let Some((_, seen)) = self.seen.iter_mut().find(|(known, _)| known == media) {
            *seen = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_each_type_and_then_few() {
        let mut sampling = Sampling::default();
        let media = |name: &str| Media::of(name.as_bytes());
        let (html, css) = (media("text/html"), media("text/css"));
        assert!(sampling.is_due(&html));
        assert!(!sampling.is_due(&html));
        assert!(sampling.is_due(&css));
        let more = (0..10 * EVERY).filter(|_| sampling.is_due(&html)).count();
        assert_eq!(more, 10);
        sampling.missed(&html);
        assert!(sampling.is_due(&html) && !sampling.is_due(&html));
        let made_up = (0..1_000).filter(|n| sampling.is_due(&media(&format!("x/{n}")))).count();
        assert_eq!(made_up, TYPES_MAX - 2);
    }
}
