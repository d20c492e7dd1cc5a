//! What every back must pass.
