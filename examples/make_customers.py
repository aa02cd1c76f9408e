"""Writes ``customers.csv``, the made-up customer file of the tutorials: nobody in it exists.

    python examples/make_customers.py

Columns are related as they would be: income follows age and schooling, baskets follow income, and men and women differ
a little in what they buy, so that plain clusters come out mostly of one sex.
"""

from pathlib import Path

import numpy as np

N_CUSTOMERS = 2_000
rng = np.random.default_rng(2026)

sex = rng.choice(["F", "M"], N_CUSTOMERS, p=[0.58, 0.42])
is_woman = sex == "F"
age = np.clip(rng.gamma(9, 5, N_CUSTOMERS) + 2, 18, 90).round().astype(int)
region = rng.choice(["north", "south", "east", "west"], N_CUSTOMERS, p=[0.4, 0.3, 0.2, 0.1])
income = (
    np.exp(rng.normal(7.6, 0.35, N_CUSTOMERS) + 0.006 * (age - 45) - 0.12 * is_woman)
    .round(-1)
    .astype(int)
)
visits = rng.poisson(2 + 3.0 * is_woman + 0.02 * np.abs(age - 45)).astype(int)
basket = np.round(
    rng.gamma(3, 8, N_CUSTOMERS) * (income / 2200) ** 0.7 * np.where(is_woman, 0.85, 1.15), 2
)
tenure = np.minimum(rng.gamma(2, 2.5, N_CUSTOMERS), age - 16).round(1)
web_share = 1 / (1 + np.exp((age - 42) / 9))
channel = np.where(
    rng.random(N_CUSTOMERS) < web_share,
    "web",
    np.where(is_woman ^ (rng.random(N_CUSTOMERS) < 0.3), "store", "phone"),
)
income_known = rng.random(N_CUSTOMERS) > 0.03

rows = ["customer,age,sex,region,income,visits,basket,tenure,channel"]
for i in range(N_CUSTOMERS):
    known = income[i] if income_known[i] else ""
    rows.append(
        f"{100_001 + i},{age[i]},{sex[i]},{region[i]},{known},{visits[i]},{basket[i]},{tenure[i]},{channel[i]}"
    )
Path(__file__).with_name("customers.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
