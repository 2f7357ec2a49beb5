//! Other forms of a stored body: the same in a content coding. They belong to the entry, go with it, and are shared by
//! entries that share the body (a 304 renews the head alone).
//!
//! The cache numbers them and does not know what they are. Each is made once: whoever begins one holds a [`Making`], and
//! who lets it go without a result leaves the form unmade, so that the next may begin. Not here: making them, and when
//! they are worth it (the server).

use crate::budget::{Budget, Charge, Paid};
use bytes::Bytes;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// How many forms a body may have.
pub const FORMS: usize = 3;

/// One form of a body as it is now.
#[derive(Clone, Debug)]
pub enum Form {
    /// Nobody has asked for it.
    Unmade,
    /// It is being made.
    Making,
    /// Here it is. Whoever holds it keeps it charged.
    Made(Bytes),
    /// It was made and was not worth keeping.
    Worthless,
}

/// All forms of one body.
#[derive(Debug)]
pub(crate) struct Forms {
    cells: [Cell; FORMS],
    held_bytes: AtomicU64,
    budget: Arc<Budget>,
    _charge: Charge,
}

#[derive(Debug, Default)]
struct Cell {
    begun: AtomicBool,
    made: OnceLock<Option<Bytes>>,
}

impl Forms {
    pub(crate) fn new(budget: &Arc<Budget>, beside_bytes: usize) -> Arc<Forms> {
        let bytes = size_of::<Forms>() + 2 * size_of::<usize>() + beside_bytes;
        Arc::new(Forms {
            cells: Default::default(),
            held_bytes: AtomicU64::new(0),
            budget: Arc::clone(budget),
            _charge: budget.charge(bytes as u64),
        })
    }

    pub(crate) fn get(&self, number: usize) -> Form {
        let Some(cell) = self.cells.get(number) else { return Form::Worthless };
        match cell.made.get() {
            Some(Some(bytes)) => Form::Made(bytes.clone()),
            Some(None) => Form::Worthless,
            None if cell.begun.load(Ordering::Acquire) => Form::Making,
            None => Form::Unmade,
        }
    }

    pub(crate) fn held_bytes(&self) -> u64 {
        self.held_bytes.load(Ordering::Relaxed)
    }

    /// Begins a form; `None` if somebody else has.
    pub(crate) fn begin(self: &Arc<Self>, number: usize) -> Option<Making> {
        let cell = self.cells.get(number)?;
        (!cell.begun.swap(true, Ordering::AcqRel)).then(|| Making { forms: Arc::clone(self), number })
    }
}

/// The right to make one form.
#[derive(Debug)]
pub struct Making {
    forms: Arc<Forms>,
    number: usize,
}

impl Making {
    /// Whether an entry still wants it: one other than the one it was begun for may share the body.
    pub fn is_wanted(&self) -> bool {
        Arc::strong_count(&self.forms) > 1
    }

    /// Here it is; `None`: it is not worth keeping.
    pub fn done(self, bytes: Option<Vec<u8>>) {
        let Some(cell) = self.forms.cells.get(self.number) else { return };
        let paid = bytes.map(|bytes| {
            self.forms.held_bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed);
            Paid::shared(Bytes::from(bytes.into_boxed_slice()), &self.forms.budget)
        });
        // There is one maker, so nothing is there yet.
        let _ = cell.made.set(paid);
    }
}

impl Drop for Making {
    fn drop(&mut self) {
        if let Some(cell) = self.forms.cells.get(self.number)
            && cell.made.get().is_none()
        {
            cell.begun.store(false, Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_made_once_and_charged_until_let_go() {
        let budget = Budget::new(1 << 20);
        let forms = Forms::new(&budget, 0);
        let frame = budget.used_bytes();
        assert!(matches!(forms.get(0), Form::Unmade));
        let making = forms.begin(0).unwrap();
        assert!(forms.begin(0).is_none(), "one maker at a time");
        assert!(matches!(forms.get(0), Form::Making));
        drop(making);
        assert!(matches!(forms.get(0), Form::Unmade), "given up");
        forms.begin(0).unwrap().done(Some(vec![7; 100]));
        forms.begin(1).unwrap().done(None);
        let Form::Made(bytes) = forms.get(0) else { panic!("made") };
        assert!(matches!(forms.get(1), Form::Worthless) && forms.begin(1).is_none());
        assert_eq!((bytes.len(), forms.held_bytes(), budget.used_bytes()), (100, 100, frame + 100));
        assert!(matches!(forms.get(FORMS), Form::Worthless) && forms.begin(FORMS).is_none());
        let last = forms.begin(2).unwrap();
        assert!(last.is_wanted());
        drop(forms);
        assert!(!last.is_wanted());
        drop(last);
        assert_eq!(budget.used_bytes(), 100, "a reader holds it");
        drop(bytes);
        assert_eq!(budget.used_bytes(), 0);
    }
}
