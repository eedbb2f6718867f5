//! The size of a terminal, within what programs can cope with.

/// Columns and rows, clamped to 20 to 400 by 5 to 200.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(from = "(u16, u16)", into = "(u16, u16)")]
pub struct Size {
    columns: u16,
    rows: u16,
}

impl Size {
    /// A size, clamped.
    pub fn new(columns: u16, rows: u16) -> Self {
        Self {
            columns: columns.clamp(20, 400),
            rows: rows.clamp(5, 200),
        }
    }

    /// How many columns.
    pub fn columns(self) -> u16 {
        self.columns
    }

    /// How many rows.
    pub fn rows(self) -> u16 {
        self.rows
    }
}

impl Default for Size {
    fn default() -> Self {
        Self::new(120, 40)
    }
}

impl From<(u16, u16)> for Size {
    fn from((columns, rows): (u16, u16)) -> Self {
        Self::new(columns, rows)
    }
}

impl From<Size> for (u16, u16) {
    fn from(size: Size) -> Self {
        (size.columns, size.rows)
    }
}
