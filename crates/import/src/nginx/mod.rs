//! nginx (its grammar and its directives come next).

use crate::draft::Draft;
use crate::include::{File, Includes};
use crate::note::{Place, Refused};

pub(crate) fn read(file: &File, _: &mut Draft<'_>, _: &mut Includes<'_>) -> Result<(), Refused> {
    let place = Place { file: file.name.as_str().into(), line: 1, column: 1 };
    Err(Refused { place, what: "nginx is not read yet".into(), hint: "write the file by hand".into() })
}
