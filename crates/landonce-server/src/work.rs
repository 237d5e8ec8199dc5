//! What is nobody's request: derived tables that are due, messages to be delivered.
