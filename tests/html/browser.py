"""A headless Chromium, and what is asked of a page in it."""

import atexit
import os
import shutil
import sys

CANNOT_BE_TESTED = 77

try:
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service
except ImportError:
    print("python3-selenium is not installed")
    sys.exit(CANNOT_BE_TESTED)


def started(scripts):
    driver = shutil.which("chromedriver")
    if driver is None or shutil.which("chromium") is None:
        print("chromium and chromium-driver are not installed")
        sys.exit(CANNOT_BE_TESTED)
    options = Options()
    # Without its sandbox, which root in a container cannot have; /dev/shm is small there, too.
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                     "--no-first-run", "--disable-background-networking"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    if not scripts:
        options.add_experimental_option(
            "prefs", {"profile.managed_default_content_settings.javascript": 2})
    chromium = webdriver.Chrome(options=options, service=Service(driver))
    atexit.register(chromium.quit)
    return chromium


class Browser:
    """One browser, with scripts or without; use it in a `with`. It takes two seconds to start and is kept for the
    next that is like it."""

    idle = {}

    def __init__(self, scripts=True):
        self.scripts = scripts
        self.driver = Browser.idle.pop(scripts, None) or started(scripts)

    def __enter__(self):
        return self

    def __exit__(self, error, *_):
        if error is None:
            self.driver.get("about:blank")
            Browser.idle[self.scripts] = self.driver

    def open(self, path, width=1400, theme="light"):
        """Opens a file. What its console says is an error, whatever it is."""
        self.visit("file://" + os.path.abspath(path), width, theme)

    def visit(self, address, width=1400, theme="light"):
        """The same for a page at any address."""
        self.command("Emulation.setDeviceMetricsOverride",
                     width=width, height=900, deviceScaleFactor=1, mobile=False)
        self.command("Emulation.setEmulatedMedia", media="",
                     features=[{"name": "prefers-color-scheme", "value": theme}])
        self.driver.get(address)
        said = self.console()
        assert said == [], f"{address}: the console says {said}"

    def command(self, name, **arguments):
        return self.driver.execute_cdp_cmd(name, arguments)

    def console(self):
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def text(self, selector):
        """What the first such element holds, hidden or not; None where there is none."""
        return self.run("return document.querySelector(arguments[0])?.textContent ?? null", selector)

    def texts(self, selector):
        return self.run("return [...document.querySelectorAll(arguments[0])].map(e => e.textContent)",
                        selector)

    def click(self, selector):
        self.run("document.querySelector(arguments[0]).click()", selector)

    def press(self, keys):
        self.driver.switch_to.active_element.send_keys(keys)
