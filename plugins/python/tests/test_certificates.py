import os
import unittest
from unittest import mock

from mdmhost_plugin import PluginError
from mdmhost_plugin.certificates import CLIENT, certificates


class TestCertificates(unittest.TestCase):
    def test_without_the_package(self):
        self.assertIsNone(certificates())
        with mock.patch.dict(os.environ, {CLIENT: "..."}), mock.patch.dict("sys.modules", {"cryptography": None}):
            with self.assertRaisesRegex(PluginError, r"need the package cryptography: .*; pip install 'mdmhost-plugin\[mtls\]', or set plugins.mtls=false"):
                certificates()
