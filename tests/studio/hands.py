"""What hands and eyes do on a page of the studio."""

from __future__ import annotations

import re


def lit(page, label: str) -> list[int]:
    """The nodes of a tree that are lit up."""
    found = page.locator(f'svg[aria-label="{label}"] g.node.lit').evaluate_all(
        "parts => parts.map((part) => Number(part.dataset.node))"
    )
    return sorted(found)


def said(page, words: str) -> str:
    """What the page says about its work, once that holds some words."""
    status = page.locator('p[role="status"]', has_text=re.compile(words))
    status.wait_for()
    return status.inner_text()


def choose(page, node: int) -> None:
    """Click a node, and wait until the page tells of it: what it told of the node before must be gone."""
    page.locator(f'g.node[data-node="{node}"] > rect').first.click()
    page.get_by_role("heading", name=f"Node {node}:").wait_for()


def options(page, label: str, choice: str) -> None:
    """Choose from a list by its label."""
    box = page.get_by_role("combobox", name=label, exact=True)
    box.click()
    shown = page.locator(f'[id="{box.get_attribute("aria-controls")}"]')  # the list before may still be fading out
    shown.get_by_role("option", name=choice, exact=True).click()
    page.keyboard.press("Escape")
    shown.wait_for(state="hidden")
    page.wait_for_function(CHOSEN, arg=[box.element_handle(), choice])


def condition(page, feature: str, number: str) -> None:
    """Put a condition into the form of a property, and wait until it is there."""
    page.get_by_label("When all of these hold").fill("")
    options(page, "Feature", feature)
    page.get_by_label("Number", exact=True).fill(number)
    page.get_by_role("button", name="Add the condition").click()
    page.wait_for_function(
        "([box, line]) => box.value === line",
        arg=[page.get_by_label("When all of these hold").element_handle(), f"[{feature}] > {number}"],
    )


def tab_to(page, name: str, most: int = 80) -> None:
    """Press Tab until something with that name has the focus, and check that the focus can be seen."""
    for _ in range(most):
        page.keyboard.press("Tab")
        if page.evaluate(NAME) == name:
            assert page.evaluate(OUTLINE) == "solid"
            return
    raise AssertionError(f"no Tab leads to {name!r}")


CHOSEN = "([box, choice]) => box.value === choice || box.closest('.q-field').innerText.includes(choice)"
OUTLINE = """() => {
  const now = document.activeElement;
  return getComputedStyle(now.closest(".q-field")?.querySelector(".q-field__control") || now).outlineStyle;
}"""
NAME = """() => {  // of what has the focus, as a screen reader would say it
  const now = document.activeElement;
  const label = now.getAttribute("aria-label") || now.closest("label")?.querySelector(".q-field__label")?.textContent;
  return (label || now.textContent).trim();
}"""
