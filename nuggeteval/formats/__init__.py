"""How files read and write: one module a family of formats, no arithmetic."""
