"""Feedback, class report, exports: reads results and the gradebook, writes neither."""
