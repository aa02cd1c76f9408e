"""What happened to whom? Accounts of any labels, whoever made them."""
