"""The paper's tables and figures by command: studies are data, one resumable runner, published numbers beside ours."""
