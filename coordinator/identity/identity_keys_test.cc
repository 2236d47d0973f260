#include "coordinator/identity/identity_keys.h"

#include "gtest/gtest.h"

namespace onefold::identity {
namespace {

TEST(IdentityKeysTest, BytesAreFrozen) {
  EXPECT_EQ(TokenKey("digest"), "Itdigest");
  EXPECT_EQ(HostKey("abc"), "Ihabc");
  EXPECT_EQ(UserKey("ann"), "Iuann");
  EXPECT_EQ(RevocationKey(HostSubject("abc")), "Irhost:abc");
  EXPECT_EQ(RevocationKey(SerialSubject("0f")), "Irserial:0f");
  EXPECT_EQ(SignInKey("digest"), "Isdigest");
  EXPECT_EQ(SessionKey("digest"), "Iwdigest");
}

}  // namespace
}  // namespace onefold::identity
